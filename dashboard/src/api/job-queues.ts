import { body, client, confirmation, ifMatch } from './client'
import type { JobQueueDraft, JobQueuePatch, PayloadType } from './types'

/** All visible job queues with their statistics. */
export const listJobQueues = (signal?: AbortSignal) => body(client.GET('/api/v1/job-queues', { signal }))

export const getJobQueue = (job_queue: string, signal?: AbortSignal) =>
  body(client.GET('/api/v1/job-queues/{job_queue}', { params: { path: { job_queue } }, signal }))

export const createJobQueue = (draft: JobQueueDraft) => body(client.POST('/api/v1/job-queues', { body: draft }))

export const updateJobQueue = (job_queue: string, revision: number, patch: JobQueuePatch) =>
  body(client.PATCH('/api/v1/job-queues/{job_queue}', { params: { path: { job_queue }, header: ifMatch(revision) }, body: patch }))

/** Removes a job queue without jobs and dead letters. */
export const removeJobQueue = (job_queue: string, token?: string) =>
  body(client.DELETE('/api/v1/job-queues/{job_queue}', { params: { path: { job_queue }, header: confirmation(token) } }))

/** Cancels all jobs that wait. */
export const drainJobQueue = (job_queue: string, token?: string) =>
  body(client.POST('/api/v1/job-queues/{job_queue}/drain', { params: { path: { job_queue }, header: confirmation(token) } }))

/** Cancels a job that waits. */
export const cancelJob = (job_queue: string, job: string) =>
  body(client.DELETE('/api/v1/job-queues/{job_queue}/jobs/{job}', { params: { path: { job_queue, job } } }))

/** Dead letters before a position, the newest first. */
export const listDeadLetters = (job_queue: string, before: string | undefined, signal?: AbortSignal) =>
  body(client.GET('/api/v1/job-queues/{job_queue}/dead-letters', { params: { path: { job_queue }, query: { before } }, signal }))

/** Puts dead letters back: these jobs, or all. */
export const replayDeadLetters = (job_queue: string, job_ids: string[] | undefined) =>
  body(client.POST('/api/v1/job-queues/{job_queue}/dead-letters/replay', { params: { path: { job_queue } }, body: job_ids ? { job_ids } : { all: true } }))

export const deleteDeadLetter = (job_queue: string, job: string) =>
  body(client.DELETE('/api/v1/job-queues/{job_queue}/dead-letters/{job}', { params: { path: { job_queue, job } } }))

/** Deletes all dead letters. */
export const deleteAllDeadLetters = (job_queue: string, token?: string) =>
  body(client.POST('/api/v1/job-queues/{job_queue}/dead-letters/delete', { params: { path: { job_queue }, header: confirmation(token) }, body: { all: true } }))

/** Records what became of a held order whose outcome is unknown. */
export const resolveOrder = (job_queue: string, job: string, outcome: 'placed' | 'not_placed') =>
  body(client.POST('/api/v1/job-queues/{job_queue}/dead-letters/{job}/resolve', { params: { path: { job_queue, job } }, body: { outcome } }))

/** Starts no more jobs; jobs are still accepted. */
export const pauseJobQueue = (job_queue: string) => body(client.POST('/api/v1/job-queues/{job_queue}/pause', { params: { path: { job_queue } } }))

export const resumeJobQueue = (job_queue: string) => body(client.POST('/api/v1/job-queues/{job_queue}/resume', { params: { path: { job_queue } } }))

/** Enqueues a webhook event that tests the handler. */
export const testWebhook = (job_queue: string) => body(client.POST('/api/v1/job-queues/{job_queue}/webhook/test', { params: { path: { job_queue } } }))

/** The secret that signs the calls of the handler. The audit log records who reads it. */
export const getSigningSecret = (job_queue: string) => body(client.GET('/api/v1/job-queues/{job_queue}/secret', { params: { path: { job_queue } } }))

/** Generates a new secret. The old one signs calls, too, for a day. */
export const rotateSigningSecret = (job_queue: string, token?: string) =>
  body(client.POST('/api/v1/job-queues/{job_queue}/secret/rotate', { params: { path: { job_queue }, header: confirmation(token) } }))

/** A job to enqueue. */
export interface NewJob {
  /** The group; FIFO job queues only. */
  group?: string
  type: PayloadType
  /** The payload as it is sent. */
  payload: string
}

/** Enqueues a job. A repeated request with the same key enqueues it once. */
export const enqueueJob = (job_queue: string, { group, type, payload }: NewJob, idempotencyKey: string) =>
  body(
    client.POST('/api/v1/job-queues/{job_queue}/jobs', {
      params: { path: { job_queue }, query: { ...(group !== undefined && { group_id: group }) }, header: { 'Idempotency-Key': idempotencyKey } },
      headers: { 'content-type': type },
      body: payload,
      // The payload is the body; it is not JSON in JSON.
      bodySerializer: (text) => text as string,
    }),
  )

export const getJob = (job_queue: string, job: string, signal?: AbortSignal) =>
  body(client.GET('/api/v1/job-queues/{job_queue}/jobs/{job}', { params: { path: { job_queue, job } }, signal }))
