import { RECENT_MINUTES, type WaitingCount } from '@/stores/stats'

/** The newest minutes, which may not have been loaded yet. */
const NOT_LOADED = 2

/** Waiting visitors in each of the last minutes before the current one; `null` where nothing was recorded. */
export function waitingByMinute(points: readonly WaitingCount[], now: number): (number | null)[] {
  const waiting = new Map(points.map(([at, count]) => [Math.floor(at / 60), count]))
  const last = Math.floor(now / 60)
  const values: (number | null)[] = []
  for (let minute = last - RECENT_MINUTES + 1; minute < last; minute += 1) {
    const missing = minute < last - NOT_LOADED ? null : values.at(-1) ?? null
    values.push(waiting.get(minute) ?? missing)
  }
  return values
}
