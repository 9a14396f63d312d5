// What the report of joins says about limits.
import type { NetworkClass, NetworkEntry, Protection, QueueProtection } from '@/api/types'

/** The settings leave out members, or the whole protection, that equal their default. */
export const PROTECTION_DEFAULTS = {
  pre_ticket_from: 50,
  pre_ticket_max_age: 30,
  mode: 'monitor',
  per_address: 20,
  per_network: 400,
  on_exceed: 'challenge',
  joins_per_second: 'none',
  counters: 131_072,
  show_networks: true,
  proof_of_work: { mode: 'off', effort: 2500, from: 50 },
} as const satisfies Protection

/** Classes of networks. */
export const NETWORK_CLASSES = ['trusted', 'shared', 'suspicious', 'blocked'] as const satisfies readonly NetworkClass[]

/** Joins of a shared network that count as one. */
const SHARED_DIVISOR = 16
/** Networks with as many joins in one of both windows are listed. */
const LISTED_FROM = 16
/** Most networks that are listed. */
const LISTED_MAX = 64
/** Seconds over which first visits per second are averaged, as joins per second are. */
const RATE_SECONDS = 10
/** Highest limit of joins. */
const LIMIT_MAX = 60_000
/** Limits that a slider offers within a power of ten. */
const STEPS = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9]

/** Whether attack mode, which ends at `until`, is on at `now`, in seconds since 1970. */
export const isInAttackMode = (until: number | null | undefined, now: number) => (until ?? 0) > now

/** A limit of joins, or `null` for none. */
export type Limit = number | null

/** A limit as the settings have it. */
export const limitOf = (value: Protection['per_address']): Limit => (typeof value === 'number' ? value : null)

/** A limit for the settings. */
export const settingOf = (limit: Limit) => limit ?? 'none'

/** A limit in attack mode. */
export const halved = (limit: Limit): Limit => (limit === null ? null : Math.max(1, Math.floor(limit / 2)))

/** The limits that a slider offers, with the one of the settings, in ascending order; the last one is none. */
export function limitSteps(setting: Limit): Limit[] {
  const powers = Array.from({ length: Math.ceil(Math.log10(LIMIT_MAX)) }, (_, power) => 10 ** power)
  const steps = powers.flatMap((power) => STEPS.map((step) => step * power)).filter((step) => Number.isInteger(step) && step <= LIMIT_MAX)
  const all = new Set(setting === null ? steps : [...steps, setting])
  return [...[...all].toSorted((one, other) => one - other), null]
}

/**
 * How many joins of a histogram a limit rejects. Cell `i` has the joins that were the 2^i-th to below the 2^(i+1)-th of their
 * address or network. Cells above the limit are rejected whole, and a linear share of the cell with the limit: the error is below
 * the content of this cell.
 */
export function rejectedBy(histogram: readonly number[], limit: Limit): number {
  if (limit === null) return 0
  const rejected = histogram.map((joins, cell) => {
    const from = 2 ** cell
    return joins * Math.min(1, Math.max(0, (2 * from - 1 - limit) / from))
  })
  return Math.round(sum(rejected))
}

/** Seconds that a core of a program without a browser takes for a derivation: 0.71 s for 2,500 of them. */
const CORE_SECONDS = 0.71 / 2500

/** What the position of a client costs that joins for the first time. A proof of work takes a challenge and a join as well. */
export function costOf(report: Pick<QueueProtection, 'pre_ticket_required' | 'difficulty'> | undefined, proofOfWork: Protection['proof_of_work']) {
  const { pre_ticket_required = false, difficulty = 0 } = report ?? {}
  const { effort } = { ...PROTECTION_DEFAULTS.proof_of_work, ...proofOfWork }
  return { requests: (pre_ticket_required ? 2 : 1) + (difficulty > 0 ? 2 : 0), coreSeconds: difficulty * effort * CORE_SECONDS }
}

export const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

/** The number of joins of a network as limits count them. */
function counted({ joins, list }: NetworkEntry): number {
  if (list === 'trusted') return 0
  return list === 'shared' ? joins / SHARED_DIVISOR : joins
}

/** How many of the listed networks are above a limit, and whether there can be others. */
export function networksAbove(networks: readonly NetworkEntry[], limit: Limit): { count: number; isComplete: boolean } {
  if (limit === null) return { count: 0, isComplete: true }
  const count = networks.filter((network) => counted(network) > limit).length
  return { count, isComplete: networks.length < LISTED_MAX && limit >= 2 * (LISTED_FROM - 1) }
}

/** The cells of a histogram up to the last one with joins, with the range of their numbers; the last cell of all has no end. */
export function histogramRows(histogram: readonly number[]): { from: number; to: number | null; joins: number }[] {
  const last = histogram.findLastIndex((joins) => joins > 0)
  return histogram.slice(0, last + 1).map((joins, cell) => ({ from: 2 ** cell, to: cell === histogram.length - 1 ? null : 2 ** (cell + 1) - 1, joins }))
}

/** The part of a report from which first visits per second follow. */
export interface FirstVisits {
  /** Length of both windows until the report, in seconds. */
  windowSeconds: number
  /** Pre-tickets issued in both windows. */
  issued: number
}

/** First visits of a report. */
export const firstVisitsOf = (report: QueueProtection): FirstVisits => ({ windowSeconds: report.window_seconds, issued: report.pre_tickets.issued })

/** First visits per second before the last of some reports, oldest first. `null` if they do not say, as when a window has just begun. */
export function firstVisitsPerSecond(reports: readonly FirstVisits[]): number | null {
  const last = reports.at(-1)
  if (!last) return null
  let first = last
  for (const report of reports.toReversed()) {
    // Windows are shorter than before when another one begins, and its counts start again.
    if (report.windowSeconds > first.windowSeconds || last.windowSeconds - report.windowSeconds > RATE_SECONDS) break
    first = report
  }
  const seconds = last.windowSeconds - first.windowSeconds
  return seconds === 0 ? null : Math.max(0, last.issued - first.issued) / seconds
}
