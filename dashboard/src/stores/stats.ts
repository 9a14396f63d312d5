import { computed, ref, shallowRef } from 'vue'
import { defineStore } from 'pinia'

import { streamStats, listQueueStats } from '@/api/stats'
import { CODES, Problem } from '@/api/problem'
import type { QueueStatsEntry, QueueStats } from '@/api/types'

/** Minutes that sparklines show. */
export const RECENT_MINUTES = 30

/** A time, and how many waited then. */
export type Waited = readonly [at: number, waiting: number]

/** The numbers of all queues, as they come. */
export const useStatsStore = defineStore('numbers', () => {
  const queues = shallowRef<QueueStats[]>([])
  const recent = shallowRef<ReadonlyMap<string, Waited[]>>(new Map())
  /** When the numbers were true, by the store's clock. */
  const at = ref(0)
  /** When numbers came last, by the browser's clock in milliseconds; 0 before the first. */
  const receivedAt = ref(0)
  const isLoaded = ref(false)
  const byId = computed(() => new Map(queues.value.map((stats) => [stats.queue, stats])))
  let canStream = true

  /** Takes new numbers. A queue whose numbers are the same stays the same object, so that its row is not drawn again. */
  function take(received: QueueStats[]): void {
    const before = byId.value
    queues.value = received.map((stats) => {
      const known = before.get(stats.queue)
      return known && isSame(known, stats) ? known : stats
    })
    at.value = Math.max(...received.map((stats) => stats.at), at.value)
    receivedAt.value = Date.now()
    isLoaded.value = true
  }

  /** Looks back: asks for the numbers with those of the last minutes. */
  async function loadRecent(signal: AbortSignal): Promise<void> {
    const overview = await listQueueStats(RECENT_MINUTES, signal)
    recent.value = new Map(overview.queues.map((queue) => [queue.queue, queue.recent as unknown as Waited[]]))
    take(overview.queues.map(withoutRecent))
  }

  /** Follows the numbers until the stream ends, or asks for them once where there is none. */
  async function follow(signal: AbortSignal): Promise<void> {
    if (canStream) {
      try {
        return await streamStats(signal, take)
      } catch (error) {
        if (!(error instanceof Problem) || (error.code !== CODES.streamingUnavailable && error.code !== CODES.tooManyStreams)) throw error
        canStream = error.code === CODES.tooManyStreams
      }
    }
    take((await listQueueStats(0, signal)).queues.map(withoutRecent))
  }

  /** Takes the numbers of one queue that were asked for after it was changed. */
  function setQueue(stats: QueueStats): void {
    take(byId.value.has(stats.queue) ? queues.value.map((it) => (it.queue === stats.queue ? stats : it)) : [...queues.value, stats])
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

  return { queues, recent, at, receivedAt, isLoaded, byId, loadRecent, follow, setQueue, forget, clear }
})

function withoutRecent(queue: QueueStatsEntry): QueueStats {
  const stats: Partial<QueueStatsEntry> = { ...queue }
  delete stats.recent
  return stats as QueueStats
}

function isSame(one: QueueStats, other: QueueStats): boolean {
  const received = (stats: QueueStats) => JSON.stringify({ ...stats, at: 0 })
  return received(one) === received(other)
}
