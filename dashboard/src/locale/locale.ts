import { computed, ref, watchEffect, type ComputedRef } from 'vue'

import { kept } from '@/domain/kept'

/** The languages of the dashboard, by their own names. Another one goes here; the compiler then names the texts it lacks. */
export const LOCALES = { en: 'English', de: 'Deutsch' } as const

export type Locale = keyof typeof LOCALES

/** The language in use: what was chosen, or else the browser's. */
export const locale = kept<Locale>('locale', preferred(), (value) => value in LOCALES)

watchEffect(() => {
  document.documentElement.lang = locale.value
})

/**
 * Texts of a view or a component in every language: strings, and functions for those with something in them. They are plain
 * code, so the compiler finds a missing one and no message is compiled in the browser, which its policy would forbid.
 */
export function defineTexts<T extends object>(texts: { en: T } & Record<Exclude<Locale, 'en'>, NoInfer<T>>): () => ComputedRef<T> {
  const current = computed(() => texts[locale.value] as T)
  return () => current
}

/** The form of a word that goes with a number. */
export function plural(count: number, forms: { one: string; other: string }): string {
  return rules.value.select(count) === 'one' ? forms.one : forms.other
}

const rules = computed(() => new Intl.PluralRules(locale.value))

/** The languages that the browser asks for, with their regions. */
export const browserLanguages = ref<readonly string[]>(navigator.languages)

/** The language in use as it is written where the viewer is: `en-US` writes dates otherwise than `en-GB`. */
export const tag = computed(() => {
  const own = browserLanguages.value.find((language) => language.split('-')[0] === locale.value && language.includes('-'))
  return own ?? (locale.value === 'en' ? 'en-GB' : locale.value)
})

/** The zone in which times are shown: the viewer's. */
export const zone = ref(Intl.DateTimeFormat().resolvedOptions().timeZone)

function preferred(): Locale {
  const wanted = navigator.languages.map((language) => language.split('-')[0] ?? '')
  return (wanted.find((language) => language in LOCALES) ?? 'en') as Locale
}
