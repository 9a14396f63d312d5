import { instantOf, localTime } from '@/domain/events'
import { zone } from '@/i18n'

/** A time in seconds as the value of a `datetime-local` input; empty if undefined. */
export const local = (at: number | undefined): string => (at === undefined ? '' : localTime(at, zone.value))

/** The value of such an input in seconds; `undefined` if empty or incomplete. */
export function seconds(text: string): number | undefined {
  const at = instantOf(text, zone.value)
  return Number.isNaN(at) ? undefined : at
}
