import { ref, shallowRef, type Ref, type ShallowRef } from 'vue'

import { problemText } from '@/i18n/server-text'
import { problemOf, type Problem } from '@/api/problem'
import { useNotificationStore } from '@/stores/notifications'

/** An asynchronous action of an operator. */
export interface Action<A extends unknown[]> {
  run(...given: A): Promise<boolean>
  isBusy: Ref<boolean>
  /** The problem of the last run. */
  problem: ShallowRef<Problem | undefined>
}

/**
 * Runs an action, one at a time. A failure is kept in `problem` for the form that shows it; with `isSaid` it is received as a
 * notice, for a button that has no place for it. Resolves to whether it was done.
 */
export function useAction<A extends unknown[]>(action: (...given: A) => Promise<unknown>, isSaid = false): Action<A> {
  const isBusy = ref(false)
  const problem = shallowRef<Problem>()

  async function run(...given: A): Promise<boolean> {
    if (isBusy.value) return false
    isBusy.value = true
    problem.value = undefined
    try {
      await action(...given)
      return true
    } catch (error) {
      problem.value = problemOf(error)
      if (isSaid && !problem.value.isExpired) useNotificationStore().failed(problemText(problem.value))
      return false
    } finally {
      isBusy.value = false
    }
  }

  return { run, isBusy, problem }
}
