import { shallowRef } from 'vue'
import { defineStore } from 'pinia'

import { serverSentence } from '@/i18n/server-text'
import { Problem } from '@/api/problem'

/** A question to confirm before an action. */
export interface Question {
  title: string
  /** The consequences in the words of the dashboard. */
  body?: string
  /** The consequences in the words of the server. */
  effect?: string
  /** Text of the confirming button. */
  action: string
  isDangerous?: boolean
  /** Text that the operator must type to confirm. */
  typed?: string
}

interface Pending extends Question {
  answer(yes: boolean): void
}

/** The open question. There is at most one. */
export const useConfirmationStore = defineStore('confirmation', () => {
  const pending = shallowRef<Pending>()

  /** Asks a question. Resolves to whether it was confirmed. */
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
   * Runs a call that the API requires to be confirmed: asks with the server's consequences and repeats the call with the token,
   * again if the consequences changed meanwhile. Resolves to `undefined` if the operator declines.
   */
  async function confirmed<T>(call: (token?: string) => Promise<T>, question: Question): Promise<{ answer: T } | undefined> {
    let token: string | undefined
    for (;;) {
      try {
        return { answer: await call(token) }
      } catch (error) {
        if (!(error instanceof Problem) || !error.confirmation) throw error
        const { consequence, message, token: newToken } = error.confirmation
        if (!(await ask({ ...question, effect: serverSentence(message, consequence) }))) return undefined
        token = newToken
      }
    }
  }

  return { pending, ask, confirmed }
})
