import { expect, test } from 'vitest'

import { stats } from '@/testing/queues'

import { byNeed, needOf } from './attention'

test('a queue that runs well needs nobody', () => {
  expect(needOf(stats())).toBeUndefined()
  expect(needOf(stats({ mode: 'closed' }))).toBeUndefined()
  expect(needOf(stats({ mode: 'bypass', active: 500, quota: 100 }))).toBeUndefined()
})

test('each need is told by its numbers', () => {
  expect(needOf(stats({ recovering: true }))).toBe('recovering')
  expect(needOf(stats({ waiting: 5, admitted_per_minute: 0 }))).toBe('still')
  expect(needOf(stats({ waiting: 5, admitted_per_minute: 0, mode: 'draining' }))).toBe('still')
  expect(needOf(stats({ waiting: 5, quota: 0, active: 0 }))).toBe('no_quota')
  expect(needOf(stats({ active: 101 }))).toBe('over_quota')
  expect(needOf(stats({ waiting: 1, mode: 'paused' }))).toBe('paused')
  expect(needOf(stats({ waiting: 5, wait_seconds: { p50: 1801, p90: 2000 } }))).toBe('long_wait')
  expect(needOf(stats({ waiting: 5, oldest_wait_seconds: 1801 }))).toBe('long_wait')
  expect(needOf(stats({ waiting: 5, active: 100 }))).toBe('full')
})

test('a rate that is not known yet is no line that stands still', () => {
  expect(needOf(stats({ waiting: 5, admitted_per_minute: null }))).toBeUndefined()
  const young = { waiting: 5, admitted_per_minute: 0 }
  expect(needOf(stats({ ...young, oldest_wait_seconds: 119 })), 'it has just begun').toBeUndefined()
  expect(needOf(stats({ ...young, oldest_wait_seconds: 120 }))).toBe('still')
})

test('the most urgent comes first, then the longest line', () => {
  const queues = [
    stats({ queue: 'calm' }),
    stats({ queue: 'short', waiting: 5, active: 100 }),
    stats({ queue: 'long', waiting: 500, active: 100 }),
    stats({ queue: 'paused', waiting: 1, mode: 'paused' }),
    stats({ queue: 'lost', recovering: true }),
    stats({ queue: 'still', waiting: 1, admitted_per_minute: 0 }),
  ]
  expect(queues.toSorted(byNeed).map(({ queue }) => queue)).toEqual(['lost', 'still', 'paused', 'long', 'short', 'calm'])
})
