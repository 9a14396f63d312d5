import { inject, provide, type InjectionKey } from 'vue'

import { useThemeDraft, type ThemeDraft } from './draft'

const KEY: InjectionKey<ThemeDraft> = Symbol('theme')

/** Creates a theme draft and provides it to the page. */
export function provideThemeDraft(theme: string, isLive: boolean): ThemeDraft {
  const work = useThemeDraft(theme, isLive)
  provide(KEY, work)
  return work
}

/** The theme draft of the page. */
export function useCurrentThemeDraft(): ThemeDraft {
  const work = inject(KEY)
  if (!work) throw new Error('there is no theme around this component')
  return work
}
