import { computed, onScopeDispose, ref, shallowRef, watch, type ComputedRef, type Ref, type ShallowRef } from 'vue'

import { textOf, type ThemeFiles } from '@/domain/theme-files'
import { problemOf, type Problem } from '@/api/problem'
import { previewDraft } from '@/api/themes'
import type { ThemeDraft, ThemeDraftPreview, PreviewState } from '@/api/types'

import { themeErrors, type ThemeError } from './errors'

/** Debounce of typing, and maximum time without an update, in milliseconds. */
export const PAUSE = 250
export const WAIT_MAX = 1_500

/** Input of a preview. */
export interface PreviewInput {
  files: ThemeFiles
  states: readonly PreviewState[]
  language: string
}

/** Preview of a draft. */
export interface Preview {
  /** The last valid pages. */
  rendered: ShallowRef<ThemeDraftPreview | undefined>
  /** Errors of the current files. */
  errors: ComputedRef<ThemeError[]>
  /** Problem of the last request. */
  problem: ShallowRef<Problem | undefined>
  /** Whether the pages show the current files. */
  isCurrent: Ref<boolean>
}

/**
 * Requests the pages whenever the input changes: at once for a new state or language, debounced while typing. There is one
 * request at a time; outdated responses are dropped.
 */
export function usePreview(theme: string, input: () => PreviewInput | undefined): Preview {
  const rendered = shallowRef<ThemeDraftPreview>()
  const problem = shallowRef<Problem>()
  const isCurrent = ref(false)
  const draft = computed(() => {
    const now = input()
    return now && draftOf(now)
  })
  let controller = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  let firstChangeAt = 0

  async function request(): Promise<void> {
    clearTimeout(timer)
    controller.abort()
    firstChangeAt = 0
    const requested = draft.value
    if (!requested) return
    const { signal } = (controller = new AbortController())
    try {
      const pages = await previewDraft(theme, requested, signal)
      if (signal.aborted) return
      rendered.value = pages
      problem.value = undefined
      isCurrent.value = requested === draft.value
    } catch (error) {
      // Problems of outdated files are ignored.
      if (!signal.aborted && requested === draft.value) problem.value = problemOf(error)
    }
  }

  function debounce(): void {
    const now = Date.now()
    firstChangeAt ||= now
    clearTimeout(timer)
    timer = setTimeout(() => void request(), Math.min(PAUSE, Math.max(0, firstChangeAt + WAIT_MAX - now)))
  }

  watch(draft, (now, before) => {
    isCurrent.value = false
    if (!now) return
    if (!before || isOtherPage(now, before)) void request()
    else debounce()
  }, { immediate: true })
  onScopeDispose(() => {
    clearTimeout(timer)
    controller.abort()
  })

  return { rendered, errors: computed(() => themeErrors(problem.value)), problem, isCurrent }
}

/** Only templates are sent; the frame has the other files. */
function draftOf({ files, states, language }: PreviewInput): ThemeDraft {
  const isTemplate = (path: string) => /^[^/]+\.html$/.test(path)
  const all = [...files]
  return {
    templates: all.filter(([path]) => isTemplate(path)).map(([path, content]) => ({ path, text: textOf(content) })),
    assets: all.map(([path]) => path).filter((path) => !isTemplate(path)),
    states: [...states],
    language: language as ThemeDraft['language'],
  }
}

const isOtherPage = (now: ThemeDraft, before: ThemeDraft) => now.language !== before.language || now.states?.join() !== before.states?.join()
