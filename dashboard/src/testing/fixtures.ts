import type { QueueReport, QueueSettings, QueueStats } from '@/api/types'

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
