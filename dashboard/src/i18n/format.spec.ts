import { beforeEach, expect, test, vi } from 'vitest'

import { ago, count, dateTime, dayName, duration, inDays, mark, minute, monthName, NONE, percent, rate, time, wait, weekdayName } from './format'
import { browserLanguages, locale, zone, ZONES } from './i18n'

beforeEach(() => vi.spyOn(Date, 'now').mockReturnValue(Date.UTC(2026, 10, 26)))

const plain = (text: string) => text.replaceAll('\u00a0', ' ')

test('numbers follow the language', () => {
  expect([count(1204), rate(7.46), rate(1204.6), percent(0.421)]).toEqual(['1,204', '7.5', '1,205', '42%'])
  locale.value = 'de'
  expect([count(1204), rate(7.46), plain(percent(0.421))]).toEqual(['1.204', '7,5', '42 %'])
})

test('unknown values are a dash', () => {
  expect([count(null), rate(undefined), duration(null), time(null)]).toEqual([NONE, NONE, NONE, NONE])
})

test('durations have at most two units', () => {
  expect([0, 59, 60, 337, 3599.9, 7199, 90_000, 172_800].map((seconds) => plain(duration(seconds)))).toEqual([
    '0 s', '59 s', '1 min', '5 min 37 s', '1 h', '1 h 59 min', '1 d 1 h', '2 d',
  ])
  expect([30, 90, 3599, 4000].map((seconds) => plain(wait(seconds)))).toEqual(['30 s', '2 min', '60 min', '1 h 7 min'])
})

test('times are in the viewer’s time zone', () => {
  const at = Date.UTC(2026, 10, 3, 19, 0, 5) / 1000
  expect([time(at), dateTime(at)]).toEqual(['19:00:05', '3 Nov, 19:00'])
  expect([mark(at, 300), mark(at, 60), mark(at, 30), mark(at, 86_400)]).toEqual(['19:00', '19:00', '19:00:05', '3 Nov'])
  zone.value = 'America/New_York'
  expect([time(at), minute(at)]).toEqual(['14:00:05', '14:00'])
})

test('times in another local year include the year', () => {
  const newYear = Date.UTC(2027, 0, 1) / 1000
  expect([dateTime(newYear - 60), dateTime(newYear)]).toEqual(['31 Dec, 23:59', '1 Jan 2027, 00:00'])
  expect(dateTime(Date.UTC(2020, 0, 1, 10) / 1000)).toBe('1 Jan 2020, 10:00')
  zone.value = 'America/New_York'
  expect(dateTime(newYear)).toBe('31 Dec, 19:00')
})

test('days of a calendar are the same in every time zone', () => {
  for (const there of ['Pacific/Kiritimati', 'UTC', 'Pacific/Pago_Pago']) {
    zone.value = there
    expect(dayName('2026-11-03')).toMatch(/^Tuesday,? 3 November 2026$/)
    expect([monthName('2026-11'), weekdayName('2026-11-03')]).toEqual(['November 2026', 'Tue'])
  }
  expect([0, 1, 5, -1].map(inDays)).toEqual(['today', 'tomorrow', 'in 5 days', 'yesterday'])
})

test('relative times have one unit', () => {
  const received = () => [0, 59, 60, 3599, 3600, 86_400, 172_800].map((seconds) => ago(1_000_000 - seconds, 1_000_000))
  expect(received()).toEqual(['this minute', 'this minute', '1 minute ago', '59 minutes ago', '1 hour ago', 'yesterday', '2 days ago'])
  locale.value = 'de'
  expect(received()[2]).toBe('vor 1 Minute')
  expect(ago(1_000_060, 1_000_000), 'a clock that is ahead').toBe('in dieser Minute')
  expect(ago(null, 0)).toBe(NONE)
})

test('dates follow the browser’s region', () => {
  const at = Date.UTC(2026, 10, 3, 19) / 1000
  expect(dateTime(at)).toBe('3 Nov, 19:00')
  browserLanguages.value = ['fr-FR', 'en-US']
  expect(dateTime(at)).toMatch(/^Nov 3, 0?7:00\sPM$/)
  browserLanguages.value = ['fr-FR']
  expect(dateTime(at)).toBe('3 Nov, 19:00')
})

test('zones are listed by the names of today', () => {
  for (const name of ['Asia/Kolkata', 'Europe/Kyiv', 'Asia/Ho_Chi_Minh']) expect(ZONES.filter((zone) => zone === name)).toHaveLength(1)
})
