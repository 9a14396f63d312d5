import { expect, test } from 'vitest'

import type { QueueEvent } from '@/api/types'

import { clockChange, endedNow, instant, instantOf, localTime, phaseOf, postponed, secondsOf, startedSoon, weekly } from './events'

const EVENT: QueueEvent = { id: 'sale', starts_at: '2027-03-04T10:00:00Z', ends_at: '2027-03-04T14:00:00Z', order: 'arrival', suspended: false }
const at = secondsOf

test('phases begin at their times', () => {
  const phase = (time: string) => phaseOf(EVENT, at(time))
  expect(['2027-03-04T09:29:59Z', '2027-03-04T09:30:00Z', '2027-03-04T10:00:00Z', '2027-03-04T14:00:00Z'].map(phase)).toEqual(['upcoming', 'lobby', 'running', 'over'])
  expect(phaseOf(EVENT, at('2027-03-04T14:05:00Z'), { id: 'sale', phase: 'ending' })).toBe('ending')
  expect(phaseOf(EVENT, at('2027-03-04T14:30:00Z'), { id: 'next', phase: 'idle' })).toBe('over')
  expect(phaseOf({ ...EVENT, suspended: true }, at('2027-03-04T10:00:00Z'))).toBe('suspended')
})

test('a draw follows the start', () => {
  const draw: QueueEvent = { ...EVENT, order: 'draw', salt: 'a' }
  expect(['2027-03-04T10:00:29Z', '2027-03-04T10:00:30Z'].map((time) => phaseOf(draw, at(time)))).toEqual(['draw', 'running'])
  expect(endedNow(draw, at('2027-03-04T10:00:10Z')).ends_at).toBe('2027-03-04T10:01:30Z')
  const salts = weekly(draw, '2027-03-04T10:00', 3, 'UTC').map(({ salt }) => salt)
  expect(new Set(salts).size, 'a secret is published after its draw').toBe(3)
  expect(salts[0]).toBe('a')
})

test('an early start keeps the length and opens the lobby', () => {
  expect(startedSoon(EVENT, at('2027-03-04T09:40:00Z'))).toMatchObject({ lobby_at: '2027-03-04T09:30:00Z', starts_at: '2027-03-04T09:41:00Z', ends_at: '2027-03-04T13:41:00Z' })
  expect(startedSoon(EVENT, at('2027-03-04T08:00:00Z'))).toMatchObject({ lobby_at: '2027-03-04T08:00:00Z', starts_at: '2027-03-04T08:01:00Z', ends_at: '2027-03-04T12:01:00Z' })
})

test('a postponed event keeps an open lobby', () => {
  expect(postponed(EVENT, 600, at('2027-03-04T09:40:00Z'))).toMatchObject({ lobby_at: '2027-03-04T09:30:00Z', starts_at: '2027-03-04T10:10:00Z', ends_at: '2027-03-04T14:10:00Z' })
  expect(postponed(EVENT, 600, at('2027-03-04T09:00:00Z')).lobby_at).toBe('2027-03-04T09:40:00Z')
})

test('an event ends now, but lasts a minute', () => {
  expect(endedNow(EVENT, at('2027-03-04T11:00:00Z') + 0.5).ends_at).toBe('2027-03-04T11:00:00Z')
  expect(endedNow(EVENT, at('2027-03-04T10:00:10Z')).ends_at).toBe('2027-03-04T10:01:00Z')
})

test('local times follow the zone', () => {
  expect(localTime(at('2027-03-04T10:00:00Z'), 'Europe/Berlin')).toBe('2027-03-04T11:00')
  expect(instant(instantOf('2027-03-04T11:00', 'Europe/Berlin'))).toBe('2027-03-04T10:00:00Z')
  expect(instant(instantOf('2027-07-04T11:00', 'Europe/Berlin'))).toBe('2027-07-04T09:00:00Z')
  expect(instant(instantOf('2027-03-28T01:30', 'Europe/Berlin')), 'before the clocks change').toBe('2027-03-28T00:30:00Z')
  expect(instant(instantOf('2027-03-28T03:30', 'Europe/Berlin')), 'after it').toBe('2027-03-28T01:30:00Z')
  expect(instantOf('', 'UTC')).toBeNaN()
})

test('weekly events keep their local time when the clocks change', () => {
  const event = { ...EVENT, starts_at: '2027-03-25T10:00:00Z', ends_at: '2027-03-25T12:00:00Z' }
  const events = weekly(event, '2027-03-25T11:00', 2, 'Europe/Berlin')
  expect(events.map(({ id }) => id)).toEqual(['sale', 'sale-2'])
  expect(events[1]).toMatchObject({ lobby_at: '2027-04-01T08:30:00Z', starts_at: '2027-04-01T09:00:00Z', ends_at: '2027-04-01T11:00:00Z' })
})

test('a skipped local time exists again in later weeks', () => {
  const skipped = '2027-03-28T02:30'
  const starts_at = instant(instantOf(skipped, 'Europe/Berlin'))
  const events = weekly({ ...EVENT, starts_at, ends_at: '2027-03-28T04:00:00Z' }, skipped, 3, 'Europe/Berlin')
  expect(events.map((event) => localTime(at(event.starts_at), 'Europe/Berlin'))).toEqual(['2027-03-28T03:30', '2027-04-04T02:30', '2027-04-11T02:30'])
})

test('local times that do not exist or occur twice are known', () => {
  const times = ['2027-03-28T01:59', '2027-03-28T02:00', '2027-03-28T03:00', '2027-10-31T01:59', '2027-10-31T02:00', '2027-10-31T02:59', '2027-10-31T03:00', '']
  expect(times.map((local) => clockChange(local, 'Europe/Berlin'))).toEqual([undefined, 'skipped', undefined, undefined, 'repeated', 'repeated', undefined, undefined])
  expect(clockChange('2027-10-31T02:30', 'UTC')).toBeUndefined()
})
