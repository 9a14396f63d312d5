import { ref } from 'vue'
import { defineStore } from 'pinia'

import { CODES, type Problem } from '@/api/problem'

/** Whether the server is there, and whether its store is. */
export const useConnectionStore = defineStore('connection', () => {
  /** Requests get no answer. */
  const isOffline = ref(false)
  /** The server answers, but its store gives it none. */
  const isStoreUnavailable = ref(false)

  function answered(problem?: Problem): void {
    isOffline.value = false
    isStoreUnavailable.value = problem?.code === CODES.storeUnavailable || problem?.code === CODES.outcomeUnknown
  }

  function failed(): void {
    isOffline.value = true
  }

  return { isOffline, isStoreUnavailable, answered, failed }
})
