import { send } from './http'
import type { Levers, QueueClone, QueueDraft, QueuePatch, QueueSettings, UrlTest, Validated } from './types'

/** Queues that are asked for at once. */
const QUEUES_PAGE = 500

export const readQueue = (queue: string, signal?: AbortSignal) =>
  send('get', '/api/v1/queues/{queue}', { path: { queue }, signal })

/** All queues of a tenant, with their settings. */
export async function queuesOf(tenant: string): Promise<QueueSettings[]> {
  const queues: QueueSettings[] = []
  let after: string | undefined
  do {
    const page = await send('get', '/api/v1/queues', { query: { tenant, after, limit: QUEUES_PAGE } })
    queues.push(...page.queues)
    after = page.next ?? undefined
  } while (after !== undefined)
  return queues
}

export const createQueue = (draft: QueueDraft) =>
  send('post', '/api/v1/queues', { body: draft }) as Promise<QueueSettings>

export const cloneQueue = (queue: string, clone: QueueClone) =>
  send('post', '/api/v1/queues/{queue}/clone', { path: { queue }, body: clone }) as Promise<QueueSettings>

export const changeQueue = (queue: string, revision: number, patch: QueuePatch) =>
  send('patch', '/api/v1/queues/{queue}', change(queue, revision, patch)) as Promise<QueueSettings>

/** What `changeQueue` would write. */
export const tryChange = (queue: string, revision: number, patch: QueuePatch) =>
  send('patch', '/api/v1/queues/{queue}', {
    ...change(queue, revision, patch),
    query: { validate: true },
  }) as Promise<Validated>

export const removeQueue = (queue: string, confirm?: string) =>
  send('delete', '/api/v1/queues/{queue}', { path: { queue }, confirm })

export const setLevers = (queue: string, levers: Levers) =>
  send('patch', '/api/v1/queues/{queue}/levers', { path: { queue }, body: levers })

/** Ends a sale in good order: nobody joins, who waits is let in, then the queue closes by itself. */
export const drainQueue = (queue: string) => send('post', '/api/v1/queues/{queue}/drain', { path: { queue } })

/** Admits the next visitors. Sent again with the same key, it admits nobody again. */
export const release = (queue: string, count: number, idempotencyKey: string, confirm?: string) =>
  send('post', '/api/v1/queues/{queue}/release', { path: { queue }, body: { count }, confirm, idempotencyKey })

/** A new idempotency key. */
export function newIdempotencyKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

export const resetQueue = (queue: string, confirm?: string) =>
  send('post', '/api/v1/queues/{queue}/reset', { path: { queue }, confirm })

/** Which queue a request would meet, and why. */
export const testUrl = (test: UrlTest) => send('post', '/api/v1/url-test', { body: test })

function change(queue: string, revision: number, body: QueuePatch) {
  return { path: { queue }, revision, body }
}
