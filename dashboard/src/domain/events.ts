import type { Mode, QueueEvent, QueueSettings } from '@/api/types'

import { drawSecondsOf, newSalt } from './draws'

/** What an event does now. */
export type EventPhase = 'suspended' | 'upcoming' | 'lobby' | 'draw' | 'running' | 'ending' | 'over'

/** How long before its start the lobby opens by default, in seconds. */
export const LOBBY_DEFAULT = 1800
/** The shortest lobby and the shortest event, in seconds. */
const SHORTEST = 60
const DAY = 86_400

/** An RFC 3339 time as seconds since 1970. */
export const secondsOf = (time: string) => Date.parse(time) / 1000

/** Seconds since 1970 as an RFC 3339 time in UTC. */
export const instant = (seconds: number) => new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')

/** When the lobby of an event opens, in seconds since 1970. */
export const lobbyOf = (event: QueueEvent) => (event.lobby_at ? secondsOf(event.lobby_at) : secondsOf(event.starts_at) - LOBBY_DEFAULT)

/** The phase of an event. `current` is what the server says about the queue's current event. */
export function phaseOf(event: QueueEvent, now: number, current?: { id?: string | null; phase: string } | null): EventPhase {
  if (event.suspended) return 'suspended'
  if (now < lobbyOf(event)) return 'upcoming'
  if (current && current.id === event.id && current.phase !== 'idle') return current.phase as EventPhase
  if (now < secondsOf(event.starts_at)) return 'lobby'
  if (now < drawEndOf(event)) return 'draw'
  return now < secondsOf(event.ends_at) ? 'running' : 'over'
}

/** Whether an event in this phase has no effect, because its queue has this mode and does not follow its events. */
export const isInactive = (mode: string, phase: EventPhase) => mode !== 'scheduled' && phase !== 'over' && phase !== 'suspended'

/** The event that takes place in a queue that follows its events. The last one goes on while anyone waits. */
export function currentEvent({ events = [], hold_ttl }: QueueSettings, now: number, waiting: number): QueueEvent | undefined {
  const [latest] = events.filter((event) => !event.suspended && lobbyOf(event) <= now).toSorted((one, other) => secondsOf(other.starts_at) - secondsOf(one.starts_at))
  const isOver = latest === undefined || (waiting === 0 && now >= Math.max(drawEndOf(latest), secondsOf(latest.ends_at) + hold_ttl))
  return isOver ? undefined : latest
}

/** The mode of a queue that follows its events while none takes place; `undefined` during one. */
export function idleMode(settings: QueueSettings, now: number, waiting: number): Mode | undefined {
  return currentEvent(settings, now, waiting) ? undefined : (settings.between_events ?? 'bypass')
}

/** Whether an event in this phase has a report: its lobby has opened. */
export const hasReport = (phase: EventPhase) => phase !== 'upcoming' && phase !== 'suspended'

/** The end of the draw phase, when admissions begin, in seconds since 1970: that of the event while the value of a beacon is missing. */
export function drawEndOf(event: QueueEvent): number {
  if (event.beacon && !event.beacon_value) return secondsOf(event.order === 'draw' ? event.ends_at : event.starts_at)
  return secondsOf(event.beacon_value?.received_at ?? event.beacon_removed_at ?? event.starts_at) + drawSecondsOf(event)
}

/** The earliest end of an event that starts then, in seconds since 1970. */
const earliestEnd = (event: QueueEvent, start: number) => start + drawSecondsOf(event) + SHORTEST

/** Seconds until the pages in the lobby of a draw have learned of another start: a quarter of the time to the start, 20 to 240 seconds. */
const learnedAfter = (event: QueueEvent, now: number) =>
  event.order === 'draw' && lobbyOf(event) <= now ? Math.min(240, Math.max(20, Math.ceil((secondsOf(event.starts_at) - now) / 4))) : 0

/**
 * The event with a start 60 seconds from now and its planned length; the lobby opens at once if it is not open yet. A draw whose lobby is open starts
 * later, so that everybody who waits is in it.
 */
export function startedSoon(event: QueueEvent, now: number): QueueEvent {
  const start = Math.ceil(now) + SHORTEST + learnedAfter(event, now)
  const lobby = Math.min(lobbyOf(event), Math.ceil(now))
  return { ...event, lobby_at: instant(lobby), starts_at: instant(start), ends_at: instant(Math.max(start + lengthOf(event), earliestEnd(event, start))) }
}

/** How long the sale of an event lasts, in seconds. */
const lengthOf = (event: QueueEvent) => secondsOf(event.ends_at) - secondsOf(event.starts_at)

/** The event with its start and end this many seconds later. An open lobby stays open. */
export function postponed(event: QueueEvent, seconds: number, now: number): QueueEvent {
  const later = (time: string) => instant(secondsOf(time) + seconds)
  const lobby = lobbyOf(event)
  return { ...event, lobby_at: instant(lobby <= now ? lobby : lobby + seconds), starts_at: later(event.starts_at), ends_at: later(event.ends_at) }
}

/** The event with its end now, at least a minute after its start and its draw. */
export const endedNow = (event: QueueEvent, now: number): QueueEvent => ({
  ...event,
  ends_at: instant(Math.max(Math.floor(now), earliestEnd(event, secondsOf(event.starts_at)))),
})

/** How far the local time of a zone is ahead of UTC at an instant, in seconds. */
function offset(seconds: number, zone: string): number {
  const options = { timeZone: zone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' } as const
  const parts = new Intl.DateTimeFormat('en', options).formatToParts(seconds * 1000)
  const part = (type: string) => Number(parts.find((it) => it.type === type)?.value)
  return Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second')) / 1000 - seconds
}

/** The local time in a zone as the value of an input: `2027-03-04T10:00`. */
export const localTime = (seconds: number, zone: string) => new Date((seconds + offset(seconds, zone)) * 1000).toISOString().slice(0, 16)

/** The instant of a local time in a zone, in seconds since 1970; `NaN` if the time is incomplete. */
export function instantOf(local: string, zone: string): number {
  const asUtc = Date.parse(`${local}Z`) / 1000
  if (Number.isNaN(asUtc)) return NaN
  // The offset before and after a change of the clocks differs, so the first result is only close.
  const close = asUtc - offset(asUtc, zone)
  return asUtc - offset(close, zone)
}

/** Whether the clocks of a zone skip a local time or show it twice, as they are set forward or back. */
export function clockChange(local: string, zone: string): 'skipped' | 'repeated' | undefined {
  const asUtc = Date.parse(`${local}Z`) / 1000
  if (Number.isNaN(asUtc)) return undefined
  const offsets = new Set([asUtc - DAY, asUtc + DAY].map((near) => offset(near, zone)))
  const instants = [...offsets].filter((ahead) => localTime(asUtc - ahead, zone) === local)
  return instants.length === 1 ? undefined : instants.length === 0 ? 'skipped' : 'repeated'
}

/**
 * The event and copies of it in the following weeks, at the local time in the zone at which it starts: one that the clocks skip in the first week
 * is there again in the others. Each draw has a salt of its own.
 */
export function weekly(event: QueueEvent, local: string, times: number, zone: string): QueueEvent[] {
  const lobby = secondsOf(event.starts_at) - lobbyOf(event)
  const start = Date.parse(`${local}Z`) / 1000
  return Array.from({ length: times }, (_, week) => {
    if (week === 0) return event
    const begins = instantOf(localTime(start + week * 7 * DAY, 'UTC'), zone)
    const id = `${event.id}-${week + 1}`
    const copy = { ...event, ...(event.salt !== undefined && { salt: newSalt() }) }
    return { ...copy, id, lobby_at: instant(begins - lobby), starts_at: instant(begins), ends_at: instant(begins + lengthOf(event)) }
  })
}
