import type { QueueStats } from '@/api/types'

import { admits } from './modes'

/** Waits longer than this raise an alert, in seconds. */
export const LONG_WAIT = 30 * 60
/** Wait in seconds after which a line without admissions counts as stalled. */
const STALLED_AFTER = 2 * 60
/** The shortest time of a rate in seconds: with longer steps it is 0 between two of them. */
const RATE_SPAN = 60

/** Alerts, the most urgent first. */
export const ALERTS = ['recovering', 'stalled', 'no_quota', 'bypassed', 'over_quota', 'paused', 'long_wait'] as const
export type Alert = (typeof ALERTS)[number]

/** Severity of each alert. */
export const SEVERITY: Record<Alert, 'bad' | 'warn'> = {
  recovering: 'bad',
  stalled: 'bad',
  no_quota: 'bad',
  bypassed: 'warn',
  over_quota: 'warn',
  paused: 'warn',
  long_wait: 'warn',
}

/** The most urgent alert of a queue, if any. */
export function alertFor(stats: QueueStats): Alert | undefined {
  const { waiting, active, quota, effective_mode: mode } = stats
  const isOpen = admits(mode)
  if (stats.recovering) return 'recovering'
  if (isOpen && waiting > 0 && quota === 0) return 'no_quota'
  if (mode === 'bypass' && waiting > 0) return 'bypassed'
  // While all slots are taken, the line waits for sessions to end, which can take longer than the time of the rate.
  const isStalled = active < quota && stats.admitted_per_minute === 0 && (stats.oldest_wait_seconds ?? STALLED_AFTER) >= STALLED_AFTER
  if (isOpen && waiting > 0 && isStalled && (stats.admissions_every ?? 0) <= RATE_SPAN) return 'stalled'
  if (active > quota && mode !== 'bypass') return 'over_quota'
  if (stats.mode === 'paused' && waiting > 0) return 'paused'
  return longestWait(stats) > LONG_WAIT ? 'long_wait' : undefined
}

/** Whether visitors wait for sessions to end, because all slots are taken. */
export function isQuotaInUse({ waiting, active, quota, effective_mode: mode }: QueueStats): boolean {
  return admits(mode) && waiting > 0 && quota > 0 && active === quota
}

/** Sorts `show-2` before `show-10`. */
const numerically = new Intl.Collator('en', { numeric: true })

/** Sorts queues by alert, then by the number of waiting visitors. */
export function byAlert(one: QueueStats, other: QueueStats): number {
  return rank(one) - rank(other) || other.waiting - one.waiting || other.active - one.active || numerically.compare(one.queue, other.queue)
}

function longestWait({ wait_seconds, oldest_wait_seconds }: QueueStats): number {
  return Math.max(wait_seconds?.p50 ?? 0, oldest_wait_seconds ?? 0)
}

function rank(stats: QueueStats): number {
  const alert = alertFor(stats)
  return alert ? ALERTS.indexOf(alert) : ALERTS.length
}
