import { body, client, confirmation, ifMatch } from './client'
import type { Controls, MessagePatch, QueueClone, QueueDraft, QueuePatch, QueueSettings, UrlTest, Validated } from './types'

/** Queues per page of a list. */
const PAGE_SIZE = 500

export const getQueue = (queue: string, signal?: AbortSignal) =>
  body(client.GET('/api/v1/queues/{queue}', { params: { path: { queue } }, signal }))

/** All visible queues, or those of a tenant, with their settings. */
export async function listQueues(tenant?: string, signal?: AbortSignal): Promise<QueueSettings[]> {
  const queues: QueueSettings[] = []
  let after: string | undefined
  do {
    const page = await body(client.GET('/api/v1/queues', { params: { query: { tenant, after, limit: PAGE_SIZE } }, signal }))
    queues.push(...page.queues)
    after = page.next ?? undefined
  } while (after !== undefined)
  return queues
}

export const createQueue = (draft: QueueDraft) => body(client.POST('/api/v1/queues', { body: draft })) as Promise<QueueSettings>

export const cloneQueue = (queue: string, clone: QueueClone) =>
  body(client.POST('/api/v1/queues/{queue}/clone', { params: { path: { queue } }, body: clone })) as Promise<QueueSettings>

/** Records the value of the beacon of a draw. */
export const recordBeacon = (queue: string, event: string, value: { round: number; signature: string }) =>
  body(client.POST('/api/v1/queues/{queue}/events/{event}/beacon', { params: { path: { queue, event } }, body: value }))

/** Updates a queue. Removing or suspending an event with lobby tickets, or removing its beacon, needs the token of a confirmation. */
export const updateQueue = (queue: string, revision: number, patch: QueuePatch, token?: string) =>
  body(
    client.PATCH('/api/v1/queues/{queue}', { params: { path: { queue }, header: { ...ifMatch(revision), ...confirmation(token) } }, body: patch }),
  ) as Promise<QueueSettings>

/** An event with its phase and its draw. */
export const getEvent = (queue: string, event: string, signal?: AbortSignal) =>
  body(client.GET('/api/v1/queues/{queue}/events/{event}', { params: { path: { queue, event } }, signal }))

export const listInvitations = (queue: string, signal?: AbortSignal) =>
  body(client.GET('/api/v1/queues/{queue}/invitations', { params: { path: { queue } }, signal }))

/** The changes that `updateQueue` would make. */
export const validateQueue = (queue: string, revision: number, patch: QueuePatch) =>
  body(
    client.PATCH('/api/v1/queues/{queue}', { params: { path: { queue }, header: ifMatch(revision), query: { validate: true } }, body: patch }),
  ) as Promise<Validated>

export const removeQueue = (queue: string, token?: string) =>
  body(client.DELETE('/api/v1/queues/{queue}', { params: { path: { queue }, header: confirmation(token) } }))

export const updateControls = (queue: string, controls: Omit<Controls, 'message'> & { message?: MessagePatch }) =>
  body(client.PATCH('/api/v1/queues/{queue}/controls', { params: { path: { queue } }, body: controls as Controls }))

/** Admits the waiting visitors and nobody new, then closes the queue. */
export const drainQueue = (queue: string) => body(client.POST('/api/v1/queues/{queue}/drain', { params: { path: { queue } } }))

/** Admits the next visitors. A repeated request with the same key has no further effect. */
export const releaseVisitors = (queue: string, count: number, idempotencyKey: string, token?: string) =>
  body(
    client.POST('/api/v1/queues/{queue}/release', {
      params: { path: { queue }, header: { 'Idempotency-Key': idempotencyKey, ...confirmation(token) } },
      body: { count },
    }),
  )

/** A new idempotency key. */
export function newIdempotencyKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

export const resetQueue = (queue: string, token?: string) =>
  body(client.POST('/api/v1/queues/{queue}/reset', { params: { path: { queue }, header: confirmation(token) } }))

/** The queue that a request goes to, and why. */
export const testUrl = (test: UrlTest) => body(client.POST('/api/v1/url-tests', { body: test }))
