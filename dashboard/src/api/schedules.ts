import { body, client } from './client'

/** The schedules of a job queue, and when each runs next. */
export const listSchedules = (job_queue: string, signal?: AbortSignal) =>
  body(client.GET('/api/v1/job-queues/{job_queue}/schedules', { params: { path: { job_queue } }, signal }))

/** Enqueues a job of a schedule now, beside those at its times. */
export const runSchedule = (job_queue: string, schedule: string) =>
  body(client.POST('/api/v1/job-queues/{job_queue}/schedules/{schedule}/run', { params: { path: { job_queue, schedule } } }))
