import type { QueueHistory, QueueStats } from '@/api/types'
import { stepsCovered } from '@/domain/report'

/** Columns of a chart with the same length; `null` for unknown values. */
export interface Series {
  at: number[]
  waiting: (number | null)[]
  active: (number | null)[]
  quota: (number | null)[]
  joined: (number | null)[]
  admitted: (number | null)[]
  /** Seconds between two points. */
  step: number
}

/** A history as columns. A step in which nothing was recorded has unknown values. */
export function series({ points, step_seconds: step }: QueueHistory, from: number, now: number): Series {
  const byStep = new Map(points.map((point) => [Math.floor((point[0] ?? 0) / step), point]))
  const first = points[0]?.[0]
  const rows: (readonly (number | null)[])[] = []
  // The series starts at the first point: the queue may not have existed before.
  const firstStep = first === undefined || first === null ? Infinity : Math.floor(Math.max(from, first) / step)
  // The current step may not have been recorded yet.
  for (let index = firstStep; byStep.has(index) || (index + 1) * step <= now; index += 1) {
    rows.push(byStep.get(index) ?? [index * step])
  }
  const column = (index: number) => rows.map((row) => row[index] ?? null)
  const covered = stepsCovered(rows)
  const perMinute = (value: number | null, index: number) => value === null ? null : (value * 60) / (step * (covered[index] ?? 1))
  return {
    at: rows.map((row) => row[0] ?? 0),
    waiting: column(1),
    active: column(2),
    quota: column(3),
    joined: column(4).map(perMinute),
    admitted: column(5).map(perMinute),
    step,
  }
}

/** The series with the current stats as the last point. */
export function withNow(series: Series, stats: QueueStats): Series {
  if (stats.at <= (series.at.at(-1) ?? Infinity)) return series
  return {
    ...series,
    at: [...series.at, stats.at],
    waiting: [...series.waiting, stats.waiting],
    active: [...series.active, stats.active],
    quota: [...series.quota, stats.quota],
    joined: [...series.joined, stats.joined_per_minute ?? null],
    admitted: [...series.admitted, stats.admitted_per_minute ?? null],
  }
}
