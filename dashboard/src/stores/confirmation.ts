import { shallowRef } from 'vue'
import { defineStore } from 'pinia'

import { serverSentence } from '@/i18n/server-text'
import { Problem } from '@/api/problem'

/** What is asked before something is done that can't be undone. */
export interface Question {
  title: string
  /** What will happen, in the dashboard's words. */
  body?: string
  /** What will happen, as the server says it. */
  effect?: string
  /** What the button says that does it. */
  action: string
  isDangerous?: boolean
  /** What must be typed first. */
  typed?: string
}

interface Pending extends Question {
  answer(yes: boolean): void
}

/** The one question that is open. */
export const useConfirmationStore = defineStore('confirmation', () => {
  const pending = shallowRef<Pending>()

  /** Asks, and returns whether the answer was yes. */
  function ask(question: Question): Promise<boolean> {
    pending.value?.answer(false)
    return new Promise((resolve) => {
      pending.value = {
        ...question,
        answer(yes) {
          pending.value = undefined
          resolve(yes)
        },
      }
    })
  }

  /**
   * Does something that the API wants confirmed: what it says will happen is shown, and the call made again with its token.
   * If things changed in between, it is shown anew. Returns `undefined` if the operator thought better of it.
   */
  async function confirmed<T>(call: (token?: string) => Promise<T>, question: Question): Promise<{ answer: T } | undefined> {
    let token: string | undefined
    for (;;) {
      try {
        return { answer: await call(token) }
      } catch (error) {
        if (!(error instanceof Problem) || !error.confirmation) throw error
        const { consequence, message, token: given } = error.confirmation
        if (!(await ask({ ...question, effect: serverSentence(message, consequence) }))) return undefined
        token = given
      }
    }
  }

  return { pending, ask, confirmed }
})
