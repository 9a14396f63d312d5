import { computed } from 'vue'
import { useTimestamp } from '@vueuse/core'
import { defineStore } from 'pinia'

import { useConnectionStore } from './connection'
import { useStatsStore } from './stats'

/** Milliseconds without an update after which stats are stale. Updates arrive every two or three seconds. */
const STALE_AFTER = 15_000

/** Whether the stats on the page are current. Controls are disabled while they are not. */
export const useFreshnessStore = defineStore('freshness', () => {
  const connection = useConnectionStore()
  const statsStore = useStatsStore()
  const now = useTimestamp({ interval: 1_000 })

  const isSilent = computed(() => statsStore.receivedAt > 0 && now.value - statsStore.receivedAt > STALE_AFTER)
  const isStale = computed(() => connection.isOffline || connection.isStoreUnavailable || isSilent.value)

  return { isStale, isSilent }
})
