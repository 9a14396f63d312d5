import { ref } from 'vue'
import { defineStore } from 'pinia'

import type { Problem } from '@/services/problem'

/** Whether the server is there, and whether its store is. */
export const useConnection = defineStore('connection', () => {
  /** Requests get no answer. */
  const isLost = ref(false)
  /** The server answers, but its store gives it none. */
  const isStoreAway = ref(false)

  function answered(problem?: Problem): void {
    isLost.value = false
    isStoreAway.value = problem?.code === 'store_unavailable' || problem?.code === 'outcome_unknown'
  }

  function failed(): void {
    isLost.value = true
  }

  return { isLost, isStoreAway, answered, failed }
})
