import type { QueueEvent } from '@/api/types'

/** Seconds after the start in which visitors of the lobby join the line, by default. */
export const DRAW_DEFAULT = 30
/** The same with a beacon, where it is also the shortest time. */
export const DRAW_WITH_BEACON = 45
/** The longest time for that, in seconds. */
export const DRAW_MAX = 600
/** Requests per second at the start that a deployment can be expected to answer. */
export const START_LIMITS = { functions: 20_000, serve: 60_000 } as const
/** Visitors of the lobby request their status within this share of the draw. */
const START_SHARE = 2 / 3

/** Seconds after the start in which nobody is admitted; 0 for an event in order of arrival. */
export const drawSecondsOf = (event: QueueEvent) => (event.order === 'draw' ? (event.draw_seconds ?? (event.beacon ? DRAW_WITH_BEACON : DRAW_DEFAULT)) : 0)

/** The expected requests per second at the start. */
export const startRate = (lobbyTickets: number, drawSeconds: number) => Math.round(lobbyTickets / (START_SHARE * drawSeconds))

/** The shortest draw that keeps the requests per second at the start within a limit, as far as a draw can be that long. */
export function proposedDrawSeconds(lobbyTickets: number, limit: number): number {
  return Math.min(Math.ceil(lobbyTickets / (START_SHARE * limit)), DRAW_MAX)
}

/** A salt that nobody can guess before the event exists. */
export function newSalt(): string {
  return [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
