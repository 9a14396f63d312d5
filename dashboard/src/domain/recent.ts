import { RECENT_MINUTES, type WaitingCount } from '@/stores/stats'

/** Waiting visitors in each of the last minutes before the current one. Missing minutes count as zero. */
export function waitingByMinute(points: readonly WaitingCount[], now: number): number[] {
  const waiting = new Map(points.map(([at, count]) => [Math.floor(at / 60), count]))
  const last = Math.floor(now / 60)
  return Array.from({ length: RECENT_MINUTES - 1 }, (_, index) => waiting.get(last - RECENT_MINUTES + 1 + index) ?? 0)
}
