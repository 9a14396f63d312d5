import { computed, inject, provide, watch, type ComputedRef, type InjectionKey, type Ref } from 'vue'
import { useQuery } from '@tanstack/vue-query'

import { queryClient, queryKeys } from '@/api/queries'
import { problemOf, type Problem } from '@/api/problem'
import { getQueueStats } from '@/api/stats'
import { getQueue } from '@/api/queues'
import type { QueueSettings, QueueStats } from '@/api/types'
import { useStatsStore } from '@/stores/stats'
import { usePrincipalStore } from '@/stores/principal'

/** Shared state of a queue's pages. */
export interface QueueContext {
  id: ComputedRef<string>
  /** The settings. They are loaded again when the stats have a newer revision. */
  settings: Readonly<Ref<QueueSettings | undefined>>
  stats: ComputedRef<QueueStats | undefined>
  /** Whether the operator may change the queue. */
  canEdit: ComputedRef<boolean>
  problem: ComputedRef<Problem | undefined>
  /** Stores changed settings and reloads the stats. */
  changed(settings: QueueSettings): Promise<void>
  /** Reloads the stats. */
  reloadStats(): Promise<void>
  /** Reloads settings and stats. Throws if that fails. */
  reread(): Promise<void>
}

const KEY: InjectionKey<QueueContext> = Symbol('queue')

/** Loads a queue and provides it to its pages. */
export function provideQueue(queue: () => string): QueueContext {
  const statsStore = useStatsStore()
  const principal = usePrincipalStore()
  const id = computed(queue)
  const key = computed(() => queryKeys.queue(id.value))
  const { data: settings, error, refetch } = useQuery({ queryKey: key, queryFn: ({ signal }) => getQueue(id.value, signal) })
  const problem = computed(() => (error.value ? problemOf(error.value) : undefined))
  const stats = computed(() => statsStore.byId.get(id.value))
  const canEdit = computed(() => settings.value !== undefined && principal.canEdit(settings.value.tenant))

  async function reloadStats(): Promise<void> {
    try {
      statsStore.setQueue(await getQueueStats(id.value))
    } catch {
      // The stream delivers them a moment later.
    }
  }

  async function reread(): Promise<void> {
    const [now, then] = await Promise.all([getQueue(id.value), getQueueStats(id.value)])
    queryClient.setQueryData(key.value, now)
    statsStore.setQueue(then)
  }

  async function changed(now: QueueSettings): Promise<void> {
    queryClient.setQueryData(key.value, now)
    await reloadStats()
  }

  watch(
    () => (stats.value?.revision ?? 0) > (settings.value?.revision ?? Infinity),
    (isNewer) => isNewer && void refetch(),
  )
  // After a connection problem, settings are loaded again with the next stats.
  watch(() => statsStore.at, () => problem.value?.status === 0 && void refetch())

  const context = { id, settings, stats, canEdit, problem, changed, reloadStats, reread }
  provide(KEY, context)
  return context
}

/** The queue of the page. */
export function useQueue(): QueueContext {
  const context = inject(KEY)
  if (!context) throw new Error('there is no queue around this component')
  return context
}
