import { events } from './events'
import { address, send, stream } from './http'
import type { QueueStats } from './types'

export type Step = 'minute' | 'five_minutes'

/** All queues now, with how many waited in the last minutes. */
export const readOverview = (recent: number, signal?: AbortSignal) =>
  send('get', '/api/v1/stats', { query: { recent }, signal })

export const readStats = (queue: string, signal?: AbortSignal) =>
  send('get', '/api/v1/queues/{queue}/stats', { path: { queue }, signal })

export const readHistory = (queue: string, step: Step, from: number, signal?: AbortSignal) =>
  send('get', '/api/v1/queues/{queue}/history', { path: { queue }, query: { step, from }, signal })

/** Where a queue's history is, as a table. */
export const historyTable = (queue: string, step: Step, from: number) =>
  address('/api/v1/queues/{queue}/history', { path: { queue }, query: { step, from, format: 'csv' } })

/** Hands over the numbers of all queues every two seconds, until the stream ends. Throws where there is none. */
export async function followNumbers(signal: AbortSignal, received: (queues: QueueStats[]) => void): Promise<void> {
  for await (const { name, data } of events(await stream('/api/v1/events', signal))) {
    if (name === 'stats') received((JSON.parse(data) as { queues: QueueStats[] }).queues)
  }
}
