import { inject, provide, type InjectionKey } from 'vue'

import { useThemeDraft, type ThemeDraft } from './draft'

const KEY: InjectionKey<ThemeDraft> = Symbol('theme')

/** Begins to work on a theme, for the parts of its page as well. */
export function provideThemeDraft(theme: string, isLive: boolean): ThemeDraft {
  const work = useThemeDraft(theme, isLive)
  provide(KEY, work)
  return work
}

/** The theme of the page. */
export function useCurrentThemeDraft(): ThemeDraft {
  const work = inject(KEY)
  if (!work) throw new Error('there is no theme around this component')
  return work
}
