import { onScopeDispose, ref, shallowRef, type Ref, type ShallowRef } from 'vue'

import { problemOf, type Problem } from '@/api/problem'

/** Something that is asked for: what came, or why nothing did. */
export interface AsyncData<T> {
  value: ShallowRef<T | undefined>
  problem: ShallowRef<Problem | undefined>
  isLoading: Ref<boolean>
  /** Asks anew. What is there stays until the answer comes; an answer to an older question is dropped. */
  load(): Promise<void>
}

/** Asks at once, and again by `load`. */
export function useAsyncData<T>(ask: () => Promise<T>): AsyncData<T> {
  const value = shallowRef<T>()
  const problem = shallowRef<Problem>()
  const isLoading = ref(false)
  let asked = 0

  async function load(): Promise<void> {
    const own = ++asked
    isLoading.value = true
    try {
      const answer = await ask()
      if (own !== asked) return
      value.value = answer
      problem.value = undefined
    } catch (error) {
      if (own === asked) problem.value = problemOf(error)
    } finally {
      if (own === asked) isLoading.value = false
    }
  }

  void load()
  onScopeDispose(() => (asked += 1))
  return { value, problem, isLoading, load }
}
