import { shallowRef } from 'vue'
import { defineStore } from 'pinia'

import { CODES, Problem } from '@/api/problem'

/** Asks for the operator's password again, where the API wants it: before operators are managed or two-factor authentication is turned off. */
export const useReauthStore = defineStore('proof', () => {
  /** Answers whether the password was given; `undefined` while nobody is asked. */
  const pending = shallowRef<(given: boolean) => void>()

  function ask(): Promise<boolean> {
    pending.value?.(false)
    return new Promise((resolve) => {
      pending.value = (given) => {
        pending.value = undefined
        resolve(given)
      }
    })
  }

  /** Does something, and does it again once the operator has given the password, if it takes that. */
  async function withPassword<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== CODES.passwordRequired || !(await ask())) throw error
      return await call()
    }
  }

  return { pending, withPassword }
})
