import { computed, onScopeDispose, ref } from 'vue'
import { defineStore } from 'pinia'

import { useConnectionStore } from './connection'
import { useStatsStore } from './stats'

/** Milliseconds without new stats after which those on the page are old. They come every two or three seconds. */
const SILENCE = 15_000

/** Whether the stats on the page are those of this moment. While they are not, nothing is to be decided by them. */
export const useFreshnessStore = defineStore('freshness', () => {
  const connection = useConnectionStore()
  const statsStore = useStatsStore()
  const now = ref(Date.now())
  const timer = setInterval(() => (now.value = Date.now()), 1_000)
  onScopeDispose(() => clearInterval(timer))

  const isSilent = computed(() => statsStore.receivedAt > 0 && now.value - statsStore.receivedAt > SILENCE)
  const isStale = computed(() => connection.isOffline || connection.isStoreUnavailable || isSilent.value)

  return { isStale, isSilent }
})
