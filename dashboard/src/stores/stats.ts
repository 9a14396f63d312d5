import { computed, ref, shallowRef } from 'vue'
import { defineStore } from 'pinia'

import { streamStats, listQueueStats } from '@/api/stats'
import { CODES, Problem } from '@/api/problem'
import type { QueueStatsEntry, QueueStats } from '@/api/types'

/** Minutes that sparklines cover. */
export const RECENT_MINUTES = 30

/** A time and the number of waiting visitors. */
export type WaitingCount = readonly [at: number, waiting: number]

/** Live stats of all queues. */
export const useStatsStore = defineStore('stats', () => {
  const queues = shallowRef<QueueStats[]>([])
  const recent = shallowRef<ReadonlyMap<string, WaitingCount[]>>(new Map())
  /** Time of the stats by the store's clock. */
  const at = ref(0)
  /** Time of the last update by the browser's clock in milliseconds; 0 before the first one. */
  const receivedAt = ref(0)
  const isLoaded = ref(false)
  /**
   * The present in seconds since 1970, by the store's clock once it is known. An unchanged queue keeps the object and the `at` of its last change, so a
   * comparison with `stats.at` is one with the past.
   */
  const now = computed(() => at.value || Date.now() / 1000)
  const byId = computed(() => new Map(queues.value.map((stats) => [stats.queue, stats])))
  /** Whether the backoffice is `vestibule serve`, which streams stats; functions do not. */
  const canStream = ref(true)

  /** Stores new stats. Unchanged queues keep their objects, so that their rows are not rendered again. */
  function store(received: QueueStats[]): void {
    const before = byId.value
    queues.value = received.map((stats) => {
      const known = before.get(stats.queue)
      return known && isSame(known, stats) ? known : stats
    })
    at.value = Math.max(...received.map((stats) => stats.at), at.value)
    receivedAt.value = Date.now()
    isLoaded.value = true
  }

  /** Loads the stats with the history of the last minutes. */
  async function loadRecent(signal: AbortSignal): Promise<void> {
    const overview = await listQueueStats(RECENT_MINUTES, signal)
    recent.value = new Map(overview.queues.map((queue) => [queue.queue, queue.recent as unknown as WaitingCount[]]))
    store(overview.queues.map(withoutRecent))
  }

  /** Follows the stream of stats until it ends, or loads them once where streaming is unavailable. */
  async function follow(signal: AbortSignal): Promise<void> {
    if (canStream.value) {
      try {
        return await streamStats(signal, store)
      } catch (error) {
        if (!(error instanceof Problem) || (error.code !== CODES.streamingUnavailable && error.code !== CODES.tooManyStreams)) throw error
        canStream.value = error.code === CODES.tooManyStreams
      }
    }
    store((await listQueueStats(0, signal)).queues.map(withoutRecent))
  }

  /** Stores the stats of one queue. */
  function setQueue(stats: QueueStats): void {
    store(byId.value.has(stats.queue) ? queues.value.map((it) => (it.queue === stats.queue ? stats : it)) : [...queues.value, stats])
  }

  function forget(queue: string): void {
    queues.value = queues.value.filter((stats) => stats.queue !== queue)
  }

  function clear(): void {
    queues.value = []
    recent.value = new Map()
    receivedAt.value = 0
    isLoaded.value = false
  }

  return { queues, recent, at, now, receivedAt, isLoaded, canStream, byId, loadRecent, follow, setQueue, forget, clear }
})

function withoutRecent(queue: QueueStatsEntry): QueueStats {
  const stats: Partial<QueueStatsEntry> = { ...queue }
  delete stats.recent
  return stats as QueueStats
}

function isSame(one: QueueStats, other: QueueStats): boolean {
  const comparable = (stats: QueueStats) => JSON.stringify({ ...stats, at: 0 })
  return comparable(one) === comparable(other)
}
