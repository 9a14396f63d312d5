import { expect, test } from 'vitest'

import type { QueueEvent, QueueSettings } from '@/api/types'
import { settings, stats } from '@/testing/fixtures'

import { byDay, calendarOf, currentEvents, dayOf, daysBetween, monthAfter, overlapsOf, weeksOf } from './calendar'
import { secondsOf } from './events'

const BERLIN = 'Europe/Berlin'

const event = (id: string, starts_at: string, ends_at: string, changes: Partial<QueueEvent> = {}): QueueEvent =>
  ({ id, starts_at, ends_at, order: 'arrival', suspended: false, ...changes })

/** A queue with a site of its own. */
const queue = (id: string, events: QueueEvent[], changes: Partial<QueueSettings> = {}): QueueSettings =>
  settings({ id, mode: 'scheduled', hosts: [`${id}.example.com`], handover: { kind: 'proxy', origin: `http://${id}.internal` }, events, ...changes })

const days = (queues: QueueSettings[], zone: string) => byDay(calendarOf(queues, zone)).map(({ day, events }) => [day, events.map(({ key }) => key)])

test('events are sorted by start and grouped by local day', () => {
  const queues = [
    queue('a', [event('late', '2027-03-04T23:30:00Z', '2027-03-05T02:00:00Z'), event('later', '2027-03-06T10:00:00Z', '2027-03-06T11:00:00Z')]),
    queue('b', [event('early', '2027-03-04T10:00:00Z', '2027-03-04T12:00:00Z')]),
    queue('c', []),
  ]
  expect(days(queues, 'UTC')).toEqual([['2027-03-04', ['b/early', 'a/late']], ['2027-03-06', ['a/later']]])
  expect(days(queues, BERLIN)).toEqual([['2027-03-04', ['b/early']], ['2027-03-05', ['a/late']], ['2027-03-06', ['a/later']]])
  expect(days(queues, 'America/Los_Angeles')[0]).toEqual(['2027-03-04', ['b/early', 'a/late']])
})

test('days have 23 and 25 hours when the clocks change', () => {
  const day = (time: string) => dayOf(secondsOf(time), BERLIN)
  // 28 March 2027 begins at +01:00 and ends at +02:00.
  expect(['2027-03-27T22:59:59Z', '2027-03-27T23:00:00Z', '2027-03-28T21:59:59Z', '2027-03-28T22:00:00Z'].map(day)).toEqual(['2027-03-27', '2027-03-28', '2027-03-28', '2027-03-29'])
  // 31 October 2027 begins at +02:00 and ends at +01:00.
  expect(['2027-10-30T21:59:59Z', '2027-10-30T22:00:00Z', '2027-10-31T22:59:59Z', '2027-10-31T23:00:00Z'].map(day)).toEqual(['2027-10-30', '2027-10-31', '2027-10-31', '2027-11-01'])
  expect(daysBetween('2027-03-27', '2027-03-29')).toBe(2)
  expect(daysBetween('2027-11-01', '2027-10-30')).toBe(-2)
})

test('both hours of a repeated hour are on one day, in their order', () => {
  const events = [event('second', '2027-10-31T01:30:00Z', '2027-10-31T03:00:00Z'), event('first', '2027-10-31T00:30:00Z', '2027-10-31T00:45:00Z')]
  expect(days([queue('a', events)], BERLIN)).toEqual([['2027-10-31', ['a/first', 'a/second']]])
})

test('phases are those of the API', () => {
  const events = [
    event('over', '2027-03-03T10:00:00Z', '2027-03-03T12:00:00Z'),
    event('ending', '2027-03-04T08:00:00Z', '2027-03-04T09:00:00Z'),
    event('suspended', '2027-03-04T08:30:00Z', '2027-03-04T08:40:00Z', { suspended: true }),
    event('next', '2027-03-05T10:00:00Z', '2027-03-05T12:00:00Z'),
  ]
  const all = calendarOf([queue('acme-tour', events)], 'UTC')
  const now = secondsOf('2027-03-04T09:30:00Z')
  const current = { id: 'ending', phase: 'ending', awaits_beacon: false }
  const found = currentEvents(all, now, () => stats({ mode: 'scheduled', event: current }))
  expect(found.map(({ event: { id }, phase, isPast }) => [id, phase, isPast])).toEqual([
    ['over', 'over', true], ['ending', 'ending', false], ['suspended', 'suspended', true], ['next', 'upcoming', false],
  ])
  expect(currentEvents(all, now, () => undefined).find(({ key }) => key === 'acme-tour/ending')?.isPast, 'without stats').toBe(true)
})

test('a month has weeks from Monday to Sunday', () => {
  const weeks = weeksOf('2027-03')
  expect(weeks.map((week) => [week[0], week[6]])).toEqual([
    ['2027-03-01', '2027-03-07'], ['2027-03-08', '2027-03-14'], ['2027-03-15', '2027-03-21'], ['2027-03-22', '2027-03-28'], ['2027-03-29', '2027-04-04'],
  ])
  expect(weeksOf('2026-02').map((week) => week[0])).toEqual(['2026-01-26', '2026-02-02', '2026-02-09', '2026-02-16', '2026-02-23'])
  expect(weeksOf('2027-02')).toHaveLength(4)
  expect([monthAfter('2026-12', 1), monthAfter('2027-01', -1), monthAfter('2027-01', 14)]).toEqual(['2027-01', '2026-12', '2028-03'])
})

test('events overlap by host, origin and start', () => {
  const queues = [
    queue('a', [event('x', '2027-03-04T10:00:00Z', '2027-03-04T14:00:00Z'), event('y', '2027-03-05T10:00:00Z', '2027-03-05T11:00:00Z')]),
    queue('host', [event('x', '2027-03-04T13:00:00Z', '2027-03-04T15:00:00Z')], { hosts: ['other.example.com', 'a.example.com'] }),
    queue('origin', [event('x', '2027-03-04T10:05:00Z', '2027-03-04T10:30:00Z')], { handover: { kind: 'redirect', origin: 'http://a.internal' } }),
    queue('after', [event('x', '2027-03-04T14:00:00Z', '2027-03-04T16:00:00Z')], { hosts: ['a.example.com'] }),
    queue('suspended', [event('x', '2027-03-04T10:00:00Z', '2027-03-04T14:00:00Z', { suspended: true })], { hosts: ['a.example.com'] }),
    queue('elsewhere', [event('x', '2027-03-04T09:55:00Z', '2027-03-04T09:58:00Z')], { handover: { kind: 'check' } }),
    queue('unknown', [event('x', '2027-03-04T10:30:00Z', '2027-03-04T11:00:00Z')], { handover: { kind: 'check' } }),
  ]
  const overlaps = overlapsOf(calendarOf(queues, 'UTC'))
  const found = Object.fromEntries([...overlaps].map(([key, { onSite, closeStarts }]) => [key, [onSite.map((it) => it.queue.id).toSorted(), closeStarts]]))
  expect(found).toEqual({
    'a/x': [['host', 'origin'], 2],
    'a/y': [[], 0],
    'host/x': [['a', 'after'], 0],
    'origin/x': [['a'], 1],
    'after/x': [['host'], 0],
    'elsewhere/x': [[], 1],
    'unknown/x': [[], 0],
  })
})
