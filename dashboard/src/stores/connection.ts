import { ref } from 'vue'
import { defineStore } from 'pinia'

import { CODES, type Problem } from '@/api/problem'

/** Availability of the server and its store. */
export const useConnectionStore = defineStore('connection', () => {
  /** Requests get no response. */
  const isOffline = ref(false)
  /** The server responds, but its store is unavailable. */
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
