import { EventSourceParserStream } from 'eventsource-parser/stream'

import { apiUrl, body, client } from './client'
import type { QueueHistory, QueueStats } from './types'

export type Step = 'minute' | 'five_minutes'

/** Stats of all queues, with the number of waiting visitors in the last minutes. */
export const listQueueStats = (recent: number, signal?: AbortSignal) =>
  body(client.GET('/api/v1/stats', { params: { query: { recent } }, signal }))

export const getQueueStats = (queue: string, signal?: AbortSignal) =>
  body(client.GET('/api/v1/queues/{queue}/stats', { params: { path: { queue } }, signal }))

/** What the queue would do with another quota. */
export const getQueueForecast = (queue: string, quota: number, signal?: AbortSignal) =>
  body(client.GET('/api/v1/queues/{queue}/forecast', { params: { path: { queue }, query: { quota } }, signal }))

export const getQueueHistory = (queue: string, step: Step, from: number, signal?: AbortSignal) =>
  body(client.GET('/api/v1/queues/{queue}/history', { params: { path: { queue }, query: { step, from } }, signal })) as Promise<QueueHistory>

/** The URL of a queue's history as CSV. */
export const historyCsvUrl = (queue: string, step: Step, from: number) =>
  apiUrl('/api/v1/queues/{queue}/history', { path: { queue }, query: { step, from, format: 'csv' } })

/**
 * Follows the stream of stats, with an update every two seconds, until it ends. Uses `fetch`, because `EventSource` hides why a
 * stream was refused.
 */
export async function streamStats(signal: AbortSignal, onStats: (queues: QueueStats[]) => void): Promise<void> {
  const stream = (await body(client.GET('/api/v1/stats/stream', { parseAs: 'stream', signal }))) as unknown as ReadableStream<Uint8Array<ArrayBuffer>>
  const reader = stream.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream()).getReader()
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    if (next.value.event === 'stats') onStats((JSON.parse(next.value.data) as { queues: QueueStats[] }).queues)
  }
}
