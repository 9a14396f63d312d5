import { lobbyOf, secondsOf } from '@/domain/events'
import type { Mode, QueueSettings } from '@/api/types'

/** Set modes in which the overlay offers to resume. */
export const STOPPED: readonly string[] = ['paused', 'closed'] satisfies Mode[]

/**
 * The mode that "Pause" or "Resume" sets at `now` (seconds since 1970). A queue in the middle of an event follows its events again. Before one it would
 * let everyone pass, so it opens the line instead.
 */
export function nextMode({ mode, events }: Pick<QueueSettings, 'mode' | 'events'>, now: number): Mode {
  if (!STOPPED.includes(mode)) return 'paused'
  const isCurrent = events?.some((event) => !event.suspended && lobbyOf(event) <= now && now < secondsOf(event.ends_at))
  return isCurrent ? 'scheduled' : 'open'
}
