import { body, client } from './client'

/** What is known about joins and pre-tickets of a queue. */
export const getQueueProtection = (queue: string, signal?: AbortSignal) =>
  body(client.GET('/api/v1/queues/{queue}/protection', { params: { path: { queue } }, signal }))

/** Starts attack mode, or lets it end in `seconds` from now. */
export const startAttackMode = (queue: string, seconds: number) =>
  body(client.PUT('/api/v1/queues/{queue}/attack-mode', { params: { path: { queue } }, body: { duration_seconds: seconds } }))

/** Ends attack mode. */
export const endAttackMode = (queue: string) => body(client.DELETE('/api/v1/queues/{queue}/attack-mode', { params: { path: { queue } } }))
