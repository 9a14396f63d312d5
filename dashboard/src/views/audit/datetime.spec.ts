import { expect, test } from 'vitest'

import { zone } from '@/i18n'

import { local, seconds } from './datetime'

test('a local time round-trips to the minute', () => {
  for (const at of [0, 1_774_573_200, 1_795_274_760]) expect(seconds(local(at))).toBe(at)
})

test('a local time is in the time zone of the dashboard', () => {
  zone.value = 'America/New_York'
  expect(local(1_774_573_200)).toBe('2026-03-26T21:00')
  expect(seconds('2026-03-26T21:00')).toBe(1_774_573_200)
})

test('an empty or incomplete field is undefined', () => {
  expect(seconds('')).toBeUndefined()
  expect(seconds('2026-11')).not.toBeNaN()
  expect(seconds('x')).toBeUndefined()
  expect(local(undefined)).toBe('')
})
