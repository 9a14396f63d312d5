import { inject, provide, type InjectionKey } from 'vue'

import { useWork, type Work } from './work'

const KEY: InjectionKey<Work> = Symbol('theme')

/** Begins to work on a theme, for the parts of its page as well. */
export function provideWork(theme: string, isLive: boolean): Work {
  const work = useWork(theme, isLive)
  provide(KEY, work)
  return work
}

/** The theme of the page. */
export function useWorkTheme(): Work {
  const work = inject(KEY)
  if (!work) throw new Error('there is no theme around this component')
  return work
}
