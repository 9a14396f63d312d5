import { ref, shallowRef, type Ref, type ShallowRef } from 'vue'

import { problemText } from '@/i18n/server-text'
import { problemOf, type Problem } from '@/api/problem'
import { useNotificationStore } from '@/stores/notifications'

/** An asynchronous action of an operator. */
export interface Action<A extends unknown[]> {
  run(...args: A): Promise<boolean>
  isBusy: Ref<boolean>
  /** The problem of the last run. */
  problem: ShallowRef<Problem | undefined>
}

/**
 * Wraps an action that runs once at a time. A failure is kept in `problem`; with `notifies`, it is also shown as a
 * notification. `run` resolves to whether the action succeeded.
 */
export function useAction<A extends unknown[]>(action: (...args: A) => Promise<unknown>, notifies = false): Action<A> {
  const isBusy = ref(false)
  const problem = shallowRef<Problem>()

  async function run(...args: A): Promise<boolean> {
    if (isBusy.value) return false
    isBusy.value = true
    problem.value = undefined
    try {
      await action(...args)
      return true
    } catch (error) {
      problem.value = problemOf(error)
      if (notifies && !problem.value.isExpired) useNotificationStore().failed(problemText(problem.value))
      return false
    } finally {
      isBusy.value = false
    }
  }

  return { run, isBusy, problem }
}
