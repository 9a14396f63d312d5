import { QueryClient } from '@tanstack/vue-query'

/** Cache of API responses. Pages refetch when they are opened; only polling refetches periodically. */
export const queryClient = new QueryClient({
  defaultOptions: { queries: { retry: false, refetchOnWindowFocus: false, refetchOnReconnect: false, networkMode: 'always' } },
})

/** Keys of the cache. */
export const queryKeys = {
  operators: ['operators'],
  principal: ['principal'],
  signInMethods: ['sign-in-methods'],
  tenants: ['tenants'],
  tokens: ['tokens'],
  themes: ['themes'],
  themeImages: (tenant: string) => ['themes', 'images', tenant],
  preview: (theme: string, query: object) => ['themes', 'preview', theme, query],
  themeVersions: (theme: string) => ['themes', 'versions', theme],
  jobQueues: ['job-queues'],
  jobQueue: (jobQueue: string) => ['job-queues', jobQueue],
  schedules: (jobQueue: string) => ['job-queues', jobQueue, 'schedules'],
  deadLetters: (jobQueue: string, before: string | undefined) => ['job-queues', jobQueue, 'dead-letters', before ?? ''],
  job: (jobQueue: string, job: string) => ['job-queues', jobQueue, 'jobs', job],
  stats: ['stats'],
  recentStats: ['stats', 'recent'],
  queues: ['queues'],
  queue: (queue: string) => ['queues', queue],
  forecast: (queue: string, quota: number) => ['queues', queue, 'forecast', quota],
  invitations: (queue: string) => ['queues', queue, 'invitations'],
  event: (queue: string, event: string) => ['queues', queue, 'events', event],
  history: (queue: string, minutes: number) => ['queues', queue, 'history', minutes],
  protection: (queue: string) => ['queues', queue, 'protection'],
  report: (queue: string, event: string | undefined) => ['queues', queue, 'report', event ?? ''],
  reportPeaks: (queue: string, from: number) => ['queues', queue, 'report', 'peaks', from],
  changes: (queue: string, minutes: number) => ['queues', queue, 'changes', minutes],
}
