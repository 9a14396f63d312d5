import type { QueueForecast } from '@/api/types'
import { count, dateTime, t, time } from '@/i18n'

import { estimatedRange } from './waits'

/** Seconds after which the end of the line is shown with its date. */
const DATED_AFTER = 43_200

/** What a quota does to the line, as sentences. `isAdmitting` says whether the queue admits visitors now. */
export function forecastSentences({ quota, at, begins_at: begins, waiting, admitted_now, last_wait_seconds: wait, line_ends_at: end }: QueueForecast, isAdmitting: boolean): string[] {
  if (quota === 0) return [t('live.whatIf.nobody')]
  if (waiting === 0) return [t('live.whatIf.empty')]
  const presumed = begins ? [t('live.whatIf.begins')] : isAdmitting ? [] : [t('live.whatIf.presumed')]
  const now = admitted_now > 0 ? [t('live.whatIf.now', { count: count(admitted_now) }, admitted_now)] : []
  if (!wait || !end) return [...presumed, ...now, t('live.whatIf.unknown')]
  if (admitted_now === waiting) return [...presumed, ...now]
  const [from, to] = [end.p50, end.p90].map((instant) => (end.p90 - at > DATED_AFTER ? dateTime(instant) : time(instant)))
  const last = t('live.whatIf.last', { count: count(waiting), wait: estimatedRange(wait) }, waiting)
  return [...presumed, ...now, last, t('live.whatIf.end', { from, to })]
}
