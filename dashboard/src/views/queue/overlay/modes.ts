import { idleMode, lobbyOf } from '@/domain/events'
import type { Mode, QueueSettings } from '@/api/types'

/** Set modes that "Pause" replaces. */
const PAUSABLE: readonly string[] = ['open', 'scheduled'] satisfies Mode[]

/**
 * The mode that "Pause" or "Resume" sets at `now` (seconds since 1970) with this number of waiting visitors. A paused queue with an event that is not over
 * follows its events again, so that none is dropped; another one opens the line. Null in other modes: a closed or draining queue must not open by accident.
 */
export function nextMode(settings: QueueSettings, now: number, waiting: number): Mode | null {
  if (PAUSABLE.includes(settings.mode)) return 'paused'
  if (settings.mode !== 'paused') return null
  const isCurrent = idleMode(settings, now, waiting) === undefined
  const isAhead = settings.events?.some((event) => !event.suspended && now < lobbyOf(event))
  return isCurrent || isAhead ? 'scheduled' : 'open'
}
