import type { Job, JobQueueSettings, JobQueueStats, JobQueueView, QueueReport, QueueSettings, QueueStats } from '@/api/types'

/** The stats of a healthy queue with changes. */
export function stats(changes: Partial<QueueStats> = {}): QueueStats {
  return {
    queue: 'acme-tour',
    tenant: 'acme',
    name: 'World tour',
    mode: 'open',
    effective_mode: changes.mode ?? 'open',
    revision: 7,
    at: 1_790_000_000,
    waiting: 0,
    active: 40,
    quota: 100,
    admissions_every: null,
    utilization: 0.4,
    joined_per_minute: 12,
    admitted_per_minute: 12,
    wait_seconds: { p50: 60, p90: 120 },
    oldest_wait_seconds: null,
    recovering: false,
    ...changes,
  }
}

/** The settings of a queue with changes. */
export function settings(changes: Partial<QueueSettings> = {}): QueueSettings {
  return {
    id: 'acme-tour',
    tenant: 'acme',
    name: 'World tour',
    hosts: ['tickets.example.com'],
    rules: [],
    mode: 'open',
    quota: 100,
    admissions_per_minute: null,
    admissions_every: null,
    max_waiting: null,
    waiting_ttl: 60,
    active_ttl: 600,
    claim_ttl: 30,
    hold_ttl: 600,
    max_session: null,
    recheck_after: 5,
    handover: { kind: 'proxy', origin: 'http://10.0.0.5:3000' },
    theme: null,
    queue_status: 200,
    store_failure: 'tickets',
    cookie_domain: null,
    epoch: 1,
    revision: 7,
    ...changes,
  }
}

/** The report of a short sale with changes. */
export function report(changes: Partial<QueueReport> = {}): QueueReport {
  return {
    queue: 'acme-tour',
    event: 'sale',
    from: '2027-03-04T09:29:10Z',
    to: '2027-03-04T14:11:05Z',
    complete: true,
    joined: 2000,
    confirmed: 1900,
    admitted: 1500,
    abandoned: 450,
    returned: 60,
    expired: 300,
    left: 1190,
    ended: 10,
    waits: [{ le: 1, count: 0 }, { le: 60, count: 300 }, { le: 600, count: 1200 }, { le: null, count: 1500 }],
    ...changes,
  }
}

/** A FIFO job queue with changes. */
export function jobQueue(changes: Partial<JobQueueSettings> = {}, counts: Partial<JobQueueStats> = {}): JobQueueView {
  const day = 86_400
  return {
    settings: {
      id: 'updates.fifo', tenant: 'acme', target: { kind: 'http', url: 'https://crm.acme.example/jobs' }, producers: 'api', accepts: ['application/json'],
      enqueues_per_minute: 10, retry: 'safe', timeout: 300, concurrency: 10, max_attempts: 8,
      min_backoff: 5, max_backoff: 900, deduplication_interval: 300, retention: 4 * day, dead_letter_retention: 14 * day, result_ttl: 3600,
      max_jobs: 1_000_000, max_bytes: 67_108_864, schedules: [], paused: false, ...changes,
    },
    revision: 3,
    stats: {
      waiting: 5, ready: 3, running: 2, dead: 1, bytes: 1200, oldest_age: 90, blocked_group: null, paused_until: null, enqueued: 40, duplicate: 3, acknowledged: 30, failed: 6, requeued: 1,
      dead_lettered: 4, unknown: 0, unresolved: 0, canceled: 0, replayed: 0, refused: 0, lost: 0, ...counts,
    },
  }
}

/** A job that waits for its retry, with changes. */
export function job(changes: Partial<Job> = {}): Job {
  return {
    job_id: '0NPWV1MDQB2XKF3Y0T5DWZQ', job_queue: 'updates.fifo', state: 'retrying', group_id: 'user-17', sequence_number: 12, receive_count: 2, failed_attempts: 2,
    enqueued_at: 1_790_000_000, due_at: 1_790_000_100, ended_at: null, resolution: null, ahead: 7, user_id: 'ada', session: '2b6e6c34-6dd6-402e-80cd-e3f03456f3f7', params: null,
    progress: [{ id: 1, at: 1_790_000_040, message: { status: 'preparing' } }], result: null,
    attempts: [
      { receive_count: 1, started_at: 1_790_000_010, ended_at: 1_790_000_011, reason: 'status', status: 500 },
      { receive_count: 2, started_at: 1_790_000_020, ended_at: 1_790_000_050, reason: 'timeout', status: null },
    ],
    reason: null, response: 'database is down', content_type: 'application/json', payload: { email: 'ada@example.com' }, payload_base64: null, ...changes,
  }
}
