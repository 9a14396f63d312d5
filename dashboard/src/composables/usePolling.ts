import type { MaybeRefOrGetter } from 'vue'
import { useQuery } from '@tanstack/vue-query'
import { useEventListener } from '@vueuse/core'

import { queryClient } from '@/api/queries'

/** Longest delay after failures, in milliseconds. */
const DELAY_MAX = 15_000

/** A repeated task. */
export interface Polling {
  /** Runs the task now. */
  refresh(): void
}

/**
 * Runs a task now and then every `interval` milliseconds while the tab is visible. After failures the delay grows
 * exponentially. A running task is aborted when the tab is hidden or the page is left.
 */
export function usePolling(key: MaybeRefOrGetter<readonly unknown[]>, task: (signal: AbortSignal) => Promise<unknown>, interval: number): Polling {
  const { refetch } = useQuery(
    {
      queryKey: ['polling', key],
      queryFn: async ({ signal }) => {
        await task(signal)
        return null
      },
      enabled: () => !document.hidden,
      refetchInterval: interval,
      refetchOnWindowFocus: 'always',
      refetchOnReconnect: 'always',
      retry: true,
      retryDelay: (failures) => Math.min(DELAY_MAX, Math.max(1_000, interval) * 2 ** failures),
      gcTime: 0,
    },
    queryClient,
  )

  useEventListener(document, 'visibilitychange', () => document.hidden && void queryClient.cancelQueries({ queryKey: ['polling'] }))
  return { refresh: () => void refetch() }
}
