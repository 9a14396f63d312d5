import { nextTick, ref, watch } from 'vue'
import { createI18n } from 'vue-i18n'

import { useLocalStorage } from '@/composables/useLocalStorage'

import en from './locales/en.json'

/** Languages of the dashboard by their native names. Each has a catalog in `locales/`. */
export const LOCALES = { en: 'English', de: 'Deutsch' } as const
export type Locale = keyof typeof LOCALES

export const i18n = createI18n({
  legacy: false,
  locale: 'en' as Locale,
  fallbackLocale: 'en' as Locale,
  messages: { en } as Record<string, typeof en>,
})

/** For modules outside of components; components call `useI18n()`. */
export const { t, te, locale } = i18n.global

/** The operator's choice, else the browser's language. */
const chosen = useLocalStorage<Locale>('locale', preferred(), (value) => value in LOCALES)

/** Loads the catalog of a language and switches to it. */
export async function setLocale(to: Locale): Promise<void> {
  chosen.value = to
  if (!(to in i18n.global.messages.value)) {
    const { default: messages } = await import(`./locales/${to}.json`)
    i18n.global.setLocaleMessage(to, messages)
    await nextTick()
  }
  if (chosen.value === to) locale.value = to
}

/** Loads the preferred language before the first page; English is the fallback. */
export async function loadLocale(): Promise<void> {
  await setLocale(chosen.value).catch(() => undefined)
}

watch(locale, (now) => (document.documentElement.lang = now), { immediate: true })

/** The languages that the browser asks for, with their regions. */
export const browserLanguages = ref<readonly string[]>(navigator.languages)

/** The time zone of the browser. */
const browserZone = Intl.DateTimeFormat().resolvedOptions().timeZone

/** Today's names of zones that Chromium lists only under old ones. */
const RENAMED = [
  'Africa/Asmara', 'America/Argentina/Buenos_Aires', 'America/Argentina/Cordoba', 'America/Indiana/Indianapolis', 'America/Kentucky/Louisville', 'America/Nuuk',
  'Asia/Ho_Chi_Minh', 'Asia/Kathmandu', 'Asia/Kolkata', 'Asia/Yangon', 'Atlantic/Faroe', 'Europe/Kyiv', 'Pacific/Chuuk', 'Pacific/Pohnpei',
]

/** The time zones to choose from. */
export const ZONES = [...new Set(['UTC', browserZone, ...[...Intl.supportedValuesOf('timeZone'), ...RENAMED.filter(isKnown)].toSorted()])]

/** The time zone of all times: the operator's choice, else that of the browser. */
export const zone = useLocalStorage('zone', browserZone, (value) => ZONES.includes(value))

/** Whether the browser knows a time zone by this name. */
function isKnown(zone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }) !== undefined
  } catch {
    return false
  }
}

function preferred(): Locale {
  const languages = navigator.languages.map((language) => language.split('-')[0] ?? '')
  return (languages.find((language) => language in LOCALES) ?? 'en') as Locale
}
