import { shallowRef } from 'vue'
import { defineStore } from 'pinia'

import { CODES, Problem } from '@/api/problem'

/** Asks for the operator's password again where the API requires it. */
export const useReauthStore = defineStore('reauth', () => {
  /** Closes the open dialog with whether the password was entered; `undefined` if there is none. */
  const pending = shallowRef<(isConfirmed: boolean) => void>()

  function ask(): Promise<boolean> {
    pending.value?.(false)
    return new Promise((resolve) => {
      pending.value = (isConfirmed) => {
        pending.value = undefined
        resolve(isConfirmed)
      }
    })
  }

  /** Runs a call, and again after the password was entered if the API requires it. */
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
