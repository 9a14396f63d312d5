import { RECENT_MINUTES, type Waited } from '@/stores/stats'

/** How many waited in each of the last minutes but this one; a minute that is not received had nobody in it. */
export function minutely(points: readonly Waited[], now: number): number[] {
  const waiting = new Map(points.map(([at, count]) => [Math.floor(at / 60), count]))
  const last = Math.floor(now / 60)
  return Array.from({ length: RECENT_MINUTES - 1 }, (_, index) => waiting.get(last - RECENT_MINUTES + 1 + index) ?? 0)
}
