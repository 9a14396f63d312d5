import { apiUrl, body, client } from './client'
import type { QueueReport } from './types'

/** The report of an event, or without one of a queue since its state began. */
export const getReport = (queue: string, event: string | undefined, signal?: AbortSignal) =>
  body(event === undefined
    ? client.GET('/api/v1/queues/{queue}/report', { params: { path: { queue } }, signal })
    : client.GET('/api/v1/queues/{queue}/events/{event}/report', { params: { path: { queue, event } }, signal })) as Promise<QueueReport>

/** The URL of a report as CSV. */
export const reportCsvUrl = (queue: string, event: string | undefined) =>
  event === undefined
    ? apiUrl('/api/v1/queues/{queue}/report', { path: { queue }, query: { format: 'csv' } })
    : apiUrl('/api/v1/queues/{queue}/events/{event}/report', { path: { queue, event }, query: { format: 'csv' } })
