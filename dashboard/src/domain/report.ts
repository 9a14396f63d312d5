import type { QueueHistory, QueueReport } from '@/api/types'

/** The numbers of a report in the order of a visit. */
export const METRICS = ['lobby_tickets', 'joined', 'confirmed', 'admitted', 'abandoned', 'returned', 'expired', 'left', 'ended'] as const
export type Metric = (typeof METRICS)[number]

/** A number of a report. */
export interface ReportRow {
  metric: Metric
  visitors: number
  /** Share of the visitors who joined, or `null` if nobody did. It can be more than 1: sessions of before the event expire in it. */
  share: number | null
}

/** The rows of a report. Only an event with a draw has lobby tickets, which are not a share of the visitors who joined. */
export const reportRows = (report: QueueReport): ReportRow[] =>
  METRICS.flatMap((metric) => {
    const visitors = report[metric]
    if (visitors === null || visitors === undefined) return []
    return [{ metric, visitors, share: report.joined > 0 && metric !== 'lobby_tickets' ? visitors / report.joined : null }]
  })

/** Visitors who waited longer than `over` seconds and at most `upTo`, which is `null` for the last bucket. */
export interface WaitBucket {
  over: number
  upTo: number | null
  visitors: number
  /** Share of all admitted visitors. */
  share: number
}

/** The buckets of the wait histogram, each without those of shorter waits. */
export function waitBuckets(waits: QueueReport['waits']): WaitBucket[] {
  const all = waits.at(-1)?.count ?? 0
  return waits.map(({ le, count }, index) => {
    const before = waits[index - 1]
    const visitors = count - (before?.count ?? 0)
    return { over: before?.le ?? 0, upTo: le ?? null, visitors, share: all > 0 ? visitors / all : 0 }
  })
}

/** A maximum with its time in seconds since 1970. */
export interface Peak {
  value: number
  at: number
}

/** What the history says about a time. */
export interface Peaks {
  waiting?: Peak
  active?: Peak
  /** Arrivals and admissions per minute. */
  joined?: Peak
  admitted?: Peak
  /** Mean share of slots that were free while visitors waited and were admitted; `undefined` if nobody waited. */
  freeSlots?: number
}

/** For each point of a history the number of steps whose events it has: its own, and those before it in which nothing was recorded. */
export function stepsCovered(points: readonly (readonly (number | null)[])[]): number[] {
  let missing = 0
  return points.map((point) => {
    const covered = missing + 1
    missing = typeof point[COLUMN.waiting] === 'number' ? 0 : covered
    return covered
  })
}

/** Columns of a point of the history. */
const COLUMN = { at: 0, waiting: 1, active: 2, quota: 3, joined: 4, admitted: 5 } as const

/** The peaks of a history from `from` to `to`. Slots are free from `starts` on, when admissions begin. */
export function peaksOf({ points, step_seconds: step }: QueueHistory, from: number, to: number, starts: number): Peaks {
  const covered = new Map(stepsCovered(points).map((steps, index) => [points[index], steps]))
  const value = (point: (number | null)[], column: keyof typeof COLUMN) => {
    const steps = column === 'joined' || column === 'admitted' ? covered.get(point) ?? 1 : 1
    return (point[COLUMN[column]] ?? 0) / steps
  }
  const isRecorded = (point: (number | null)[]) => typeof point[COLUMN.waiting] === 'number'
  const within = points.filter((point) => isRecorded(point) && value(point, 'at') + step > from && value(point, 'at') <= to)
  const peak = (column: 'waiting' | 'active' | 'joined' | 'admitted'): Peak | undefined => {
    const known = within.filter((point) => typeof point[COLUMN[column]] === 'number')
    const highest = known.toSorted((one, other) => value(other, column) - value(one, column))[0]
    if (!highest) return undefined
    const perMinute = column === 'joined' || column === 'admitted' ? 60 / step : 1
    return { value: value(highest, column) * perMinute, at: value(highest, 'at') }
  }
  const contended = within.filter((point) => value(point, 'at') >= starts && value(point, 'waiting') > 0 && value(point, 'quota') > 0)
  const free = contended.map((point) => Math.max(0, 1 - value(point, 'active') / value(point, 'quota')))
  return {
    waiting: peak('waiting'),
    active: peak('active'),
    joined: peak('joined'),
    admitted: peak('admitted'),
    freeSlots: free.length > 0 ? free.reduce((sum, share) => sum + share, 0) / free.length : undefined,
  }
}
