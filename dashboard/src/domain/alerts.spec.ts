import { expect, test } from 'vitest'

import { stats } from '@/testing/fixtures'

import { alertFor, byAlert, isQuotaInUse } from './alerts'

test('a healthy queue has no alert', () => {
  expect(alertFor(stats())).toBeUndefined()
  expect(alertFor(stats({ mode: 'closed' }))).toBeUndefined()
  expect(alertFor(stats({ mode: 'bypass', active: 500, quota: 100 }))).toBeUndefined()
})

test('alerts follow from the stats', () => {
  expect(alertFor(stats({ recovering: true }))).toBe('recovering')
  expect(alertFor(stats({ waiting: 5, admitted_per_minute: 0 }))).toBe('stalled')
  expect(alertFor(stats({ waiting: 5, admitted_per_minute: 0, mode: 'draining' }))).toBe('stalled')
  expect(alertFor(stats({ waiting: 5, quota: 0, active: 0 }))).toBe('no_quota')
  expect(alertFor(stats({ waiting: 25, active: 7, quota: 2, mode: 'scheduled', effective_mode: 'bypass' }))).toBe('bypassed')
  expect(alertFor(stats({ active: 101 }))).toBe('over_quota')
  expect(alertFor(stats({ waiting: 1, mode: 'paused' }))).toBe('paused')
  expect(alertFor(stats({ waiting: 5, wait_seconds: { p50: 1801, p90: 2000 } }))).toBe('long_wait')
  expect(alertFor(stats({ waiting: 5, oldest_wait_seconds: 1801 }))).toBe('long_wait')
})

test('a quota that is in use is a state and no alert', () => {
  const full = { waiting: 5, active: 100 }
  expect([alertFor(stats(full)), isQuotaInUse(stats(full))]).toEqual([undefined, true])
  for (const other of [{ active: 99 }, { active: 101 }, { waiting: 0 }, { mode: 'paused' as const }, { active: 0, quota: 0 }]) expect(isQuotaInUse(stats({ ...full, ...other }))).toBe(false)
})

test('an unknown rate is not a stalled line', () => {
  expect(alertFor(stats({ waiting: 5, admitted_per_minute: null }))).toBeUndefined()
  const young = { waiting: 5, admitted_per_minute: 0 }
  expect(alertFor(stats({ ...young, oldest_wait_seconds: 119 })), 'it has just begun').toBeUndefined()
  expect(alertFor(stats({ ...young, oldest_wait_seconds: 120 }))).toBe('stalled')
})

test('a line is not stalled while all slots are taken', () => {
  const slow = { waiting: 5, admitted_per_minute: 0, quota: 1 }
  expect(alertFor(stats({ ...slow, active: 1 }))).toBeUndefined()
  expect(alertFor(stats({ ...slow, active: 0 }))).toBe('stalled')
})

test('a line is not stalled between two long steps', () => {
  const still = (admissions_every: number | null) => stats({ waiting: 5, admitted_per_minute: 0, admissions_every })
  expect(alertFor(still(60))).toBe('stalled')
  expect(alertFor(still(61))).toBeUndefined()
  expect(alertFor(still(null))).toBe('stalled')
})

test('queues are sorted by alert, then by waiting visitors', () => {
  const queues = [
    stats({ queue: 'calm' }),
    stats({ queue: 'short', waiting: 5, active: 100 }),
    stats({ queue: 'long', waiting: 500, active: 100 }),
    stats({ queue: 'paused', waiting: 1, mode: 'paused' }),
    stats({ queue: 'lost', recovering: true }),
    stats({ queue: 'stalled', waiting: 1, admitted_per_minute: 0 }),
  ]
  expect(queues.toSorted(byAlert).map(({ queue }) => queue)).toEqual(['lost', 'stalled', 'paused', 'long', 'short', 'calm'])
})

test('numbers in names are sorted by their value', () => {
  expect(['show-10', 'show-100', 'show-2'].map((queue) => stats({ queue })).toSorted(byAlert).map(({ queue }) => queue)).toEqual(['show-2', 'show-10', 'show-100'])
})
