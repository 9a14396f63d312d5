import { useQuery, type UseQueryReturnType } from '@tanstack/vue-query'

import { listJobQueues } from '@/api/job-queues'
import { queryKeys } from '@/api/queries'
import type { JobQueueView } from '@/api/types'

/** The job queues that are visible to the operator, read again every `interval` milliseconds, or only once without it. */
export function useJobQueues(interval?: number): UseQueryReturnType<JobQueueView[], Error> {
  return useQuery({
    queryKey: queryKeys.jobQueues,
    queryFn: async ({ signal }) => (await listJobQueues(signal)).job_queues,
    refetchInterval: interval ?? false,
  })
}
