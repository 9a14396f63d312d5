import type { QueueEvent, QueueSettings, QueueStats } from '@/api/types'

import { localTime, phaseOf, secondsOf, type EventPhase } from './events'

/** An event with its queue. */
export interface CalendarEvent {
  /** Unique among the events of all queues. */
  key: string
  queue: QueueSettings
  event: QueueEvent
  /** Start and end in seconds since 1970. */
  starts: number
  ends: number
  /** The day of the start in the time zone of the calendar, such as `2027-03-04`. */
  day: string
}

/** An event of the calendar at a time. */
export interface CurrentEvent extends CalendarEvent {
  phase: EventPhase
  /** Whether the event is over. One that is suspended is so at its planned end. */
  isPast: boolean
}

/** Other queues' events at the time of an event. */
export interface Overlap {
  /** Those of queues with the same host or origin that take place at the same time. */
  onSite: CalendarEvent[]
  /** Number of those that start at about the same time. */
  closeStarts: number
}

/** Events start at about the same time if their starts are at most these seconds apart. */
export const CLOSE_STARTS = 300

const DAY_MS = 86_400_000

/** The day of an instant in a time zone, such as `2027-03-04`. */
export const dayOf = (seconds: number, zone: string) => localTime(seconds, zone).slice(0, 10)

/** Days from one day to another. */
export const daysBetween = (from: string, to: string) => (Date.parse(to) - Date.parse(from)) / DAY_MS

/** The events of all queues by their start. */
export function calendarOf(queues: readonly QueueSettings[], zone: string): CalendarEvent[] {
  const events = queues.flatMap((queue) =>
    (queue.events ?? []).map((event) => {
      const starts = secondsOf(event.starts_at)
      return { key: `${queue.id}/${event.id}`, queue, event, starts, ends: secondsOf(event.ends_at), day: dayOf(starts, zone) }
    }),
  )
  return events.toSorted((one, other) => one.starts - other.starts)
}

/** The phases of events. `stats` are those of a queue. */
export const currentEvents = (events: readonly CalendarEvent[], now: number, stats: (queue: string) => QueueStats | undefined): CurrentEvent[] =>
  events.map((it) => {
    const phase = phaseOf(it.event, now, stats(it.queue.id)?.event)
    return { ...it, phase, isPast: phase === 'over' || (phase === 'suspended' && it.ends <= now) }
  })

/** Sorted events with their days. */
export function byDay<T extends CalendarEvent>(events: readonly T[]): { day: string; events: T[] }[] {
  const days: { day: string; events: T[] }[] = []
  for (const event of events) {
    const last = days.at(-1)
    if (last?.day === event.day) last.events.push(event)
    else days.push({ day: event.day, events: [event] })
  }
  return days
}

/** The weeks from Monday to Sunday that a month such as `2027-03` has days in. */
export function weeksOf(month: string): string[][] {
  const first = Date.parse(month)
  const afterMonday = (new Date(first).getUTCDay() + 6) % 7
  const weeks: string[][] = []
  for (let monday = first - afterMonday * DAY_MS; monday < Date.parse(monthAfter(month, 1)); monday += 7 * DAY_MS) {
    weeks.push(Array.from({ length: 7 }, (_, day) => new Date(monday + day * DAY_MS).toISOString().slice(0, 10)))
  }
  return weeks
}

/** The month that is `months` after a month; before it if negative. */
export function monthAfter(month: string, months: number): string {
  const first = new Date(month)
  return new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + months)).toISOString().slice(0, 7)
}

/** The overlaps of events that are sorted by their start, by key. Suspended events overlap nothing, and events of one queue do not overlap. */
export function overlapsOf(events: readonly CalendarEvent[]): Map<string, Overlap> {
  const overlaps = new Map<string, Overlap>()
  /** Earlier events that can overlap the next one. */
  let earlier: { event: CalendarEvent; overlap: Overlap }[] = []
  for (const event of events.filter((it) => !it.event.suspended)) {
    const overlap: Overlap = { onSite: [], closeStarts: 0 }
    const isClose = (other: CalendarEvent) => event.starts - other.starts <= CLOSE_STARTS
    earlier = earlier.filter((it) => it.event.ends > event.starts || isClose(it.event))
    for (const other of earlier.filter((it) => it.event.queue.id !== event.queue.id)) {
      if (isClose(other.event)) {
        overlap.closeStarts += 1
        other.overlap.closeStarts += 1
      }
      if (other.event.ends > event.starts && isSameSite(other.event.queue, event.queue)) {
        overlap.onSite.push(other.event)
        other.overlap.onSite.push(event)
      }
    }
    earlier.push({ event, overlap })
    overlaps.set(event.key, overlap)
  }
  return overlaps
}

/** Whether two queues have a host or an origin in common. */
function isSameSite(one: QueueSettings, other: QueueSettings): boolean {
  const sites = ({ hosts, handover }: QueueSettings) => [...hosts, handover.origin].filter((site) => site !== undefined)
  return sites(one).some((site) => sites(other).includes(site))
}
