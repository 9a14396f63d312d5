import type { Job, JobQueueView } from '@/api/types'

/** What a job queue does: it starts jobs, or was paused by an operator or by its handler. */
export type JobQueueState = 'running' | 'paused' | 'throttled'

/** Whether the jobs of a job queue have groups, which its ID decides. */
export const isFifo = (id: string) => id.endsWith('.fifo')

/** The state of a job queue at a time in seconds. */
export function stateOf({ settings, stats }: JobQueueView, now: number): JobQueueState {
  if (settings.paused) return 'paused'
  return (stats?.paused_until ?? 0) > now ? 'throttled' : 'running'
}

/** The host of a job queue's handler; an address that is no URL is shown as it is. `undefined` for other targets. */
export function targetHost({ settings }: JobQueueView): string | undefined {
  const { url } = settings.target
  return url !== undefined && URL.canParse(url) ? new URL(url).host : url
}

/** Whether a job changes no more by itself. */
export const isFinished = ({ state }: Pick<Job, 'state'>) => state === 'completed' || state === 'failed'

/** The payload of a job as text, JSON indented; `undefined` if the job no longer has one. */
export function payloadText({ content_type, payload, payload_base64 }: Job): string | undefined {
  if (payload_base64) return payload_base64
  if (!content_type) return undefined
  const [mediaType = ''] = content_type.toLowerCase().split(';')
  const isJson = mediaType.trim() === 'application/json' || mediaType.trim().endsWith('+json')
  return isJson || typeof payload !== 'string' ? JSON.stringify(payload ?? null, null, 2) : payload
}
