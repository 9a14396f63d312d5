import { lobbyOf, secondsOf } from '@/domain/events'
import type { Mode, QueueSettings } from '@/api/types'

/** Set modes that "Pause" replaces. */
const PAUSABLE: readonly string[] = ['open', 'scheduled'] satisfies Mode[]

/**
 * The mode that "Pause" or "Resume" sets at `now` (seconds since 1970). A paused queue in the middle of an event follows its events again. Before one it
 * would let everyone pass, so it opens the line instead. Null in other modes: a closed or draining queue must not open by accident.
 */
export function nextMode({ mode, events }: Pick<QueueSettings, 'mode' | 'events'>, now: number): Mode | null {
  if (PAUSABLE.includes(mode)) return 'paused'
  if (mode !== 'paused') return null
  const isCurrent = events?.some((event) => !event.suspended && lobbyOf(event) <= now && now < secondsOf(event.ends_at))
  return isCurrent ? 'scheduled' : 'open'
}
