import { useQueryClient } from '@tanstack/vue-query'

import { queryKeys } from '@/api/queries'
import type { JobQueueView } from '@/api/types'
import { useNotificationStore } from '@/stores/notifications'

/** Waits until a job queue is written, reads the job queues again, and says what was done. */
export function useJobQueueUpdate(): (writing: Promise<JobQueueView>, done: string) => Promise<JobQueueView> {
  const cache = useQueryClient()
  return async (writing, done) => {
    const saved = await writing
    await cache.invalidateQueries({ queryKey: queryKeys.jobQueues })
    useNotificationStore().done(done)
    return saved
  }
}
