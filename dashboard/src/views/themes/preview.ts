import { computed, onScopeDispose, ref, shallowRef, watch, type ComputedRef, type Ref, type ShallowRef } from 'vue'

import { textOf, type ThemeFiles } from '@/domain/theme-files'
import { problemOf, type Problem } from '@/api/problem'
import { previewDraft } from '@/api/themes'
import type { ThemeDraft, ThemeDraftPreview, PreviewState } from '@/api/types'

import { themeErrors, type ThemeError } from './errors'

/** Pause in typing after which a preview is asked for, and longest time without one while somebody types on, in milliseconds. */
export const PAUSE = 250
export const WAIT_MAX = 1_500

/** What is looked at; nothing as long as the files are not there. */
export interface Looked {
  files: ThemeFiles
  states: readonly PreviewState[]
  language: string
}

/** The pages of files that are being worked on. */
export interface Preview {
  /** The pages as they last worked. */
  drawn: ShallowRef<ThemeDraftPreview | undefined>
  /** Why the files as they are now do not work. */
  errors: ComputedRef<ThemeError[]>
  /** Why there is no answer. */
  problem: ShallowRef<Problem | undefined>
  /** Whether the pages are those of the files as they are now. */
  isCurrent: Ref<boolean>
}

/**
 * Asks for the pages whenever what is looked at changes: at once at first and when another state or language is chosen, and
 * in a pause while somebody types. One question is under way at a time; its answer is dropped if there is a newer one.
 */
export function usePreview(theme: string, looked: () => Looked | undefined): Preview {
  const drawn = shallowRef<ThemeDraftPreview>()
  const problem = shallowRef<Problem>()
  const isCurrent = ref(false)
  const sketch = computed(() => {
    const now = looked()
    return now && sketchOf(now)
  })
  let asking = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  let since = 0

  async function ask(): Promise<void> {
    clearTimeout(timer)
    asking.abort()
    since = 0
    const asked = sketch.value
    if (!asked) return
    const { signal } = (asking = new AbortController())
    try {
      const answer = await previewDraft(theme, asked, signal)
      if (signal.aborted) return
      drawn.value = answer
      problem.value = undefined
      isCurrent.value = asked === sketch.value
    } catch (error) {
      // What is wrong with files that were changed since may be mended already.
      if (!signal.aborted && asked === sketch.value) problem.value = problemOf(error)
    }
  }

  function later(): void {
    const now = Date.now()
    since ||= now
    clearTimeout(timer)
    timer = setTimeout(() => void ask(), Math.min(PAUSE, Math.max(0, since + WAIT_MAX - now)))
  }

  watch(sketch, (now, before) => {
    isCurrent.value = false
    if (!now) return
    if (!before || isElsewhere(now, before)) void ask()
    else later()
  }, { immediate: true })
  onScopeDispose(() => {
    clearTimeout(timer)
    asking.abort()
  })

  return { drawn, errors: computed(() => themeErrors(problem.value)), problem, isCurrent }
}

/** Files that are no templates are not sent: the page has them. */
function sketchOf({ files, states, language }: Looked): ThemeDraft {
  const isTemplate = (path: string) => /^[^/]+\.html$/.test(path)
  const all = [...files]
  return {
    templates: all.filter(([path]) => isTemplate(path)).map(([path, content]) => ({ path, text: textOf(content) })),
    assets: all.map(([path]) => path).filter((path) => !isTemplate(path)),
    states: [...states],
    language: language as ThemeDraft['language'],
  }
}

const isElsewhere = (now: ThemeDraft, before: ThemeDraft) => now.language !== before.language || now.states?.join() !== before.states?.join()
