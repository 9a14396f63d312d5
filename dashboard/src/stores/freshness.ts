import { computed, onScopeDispose, ref } from 'vue'
import { defineStore } from 'pinia'

import { useConnection } from './connection'
import { useNumbers } from './numbers'

/** Milliseconds without new numbers after which those on the page are old. They come every two or three seconds. */
const SILENCE = 15_000

/** Whether the numbers on the page are those of this moment. While they are not, nothing is to be decided by them. */
export const useFreshness = defineStore('freshness', () => {
  const connection = useConnection()
  const numbers = useNumbers()
  const now = ref(Date.now())
  const timer = setInterval(() => (now.value = Date.now()), 1_000)
  onScopeDispose(() => clearInterval(timer))

  const isSilent = computed(() => numbers.receivedAt > 0 && now.value - numbers.receivedAt > SILENCE)
  const isStale = computed(() => connection.isLost || connection.isStoreAway || isSilent.value)

  return { isStale, isSilent }
})
