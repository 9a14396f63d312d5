import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import { Problem } from '@/services/problem'
import { stats } from '@/testing/queues'

import { useConnection } from './connection'
import { useFreshness } from './freshness'
import { useNumbers } from './numbers'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('numbers are stale while the store or the server does not respond', () => {
  const [freshness, connection] = [useFreshness(), useConnection()]
  useNumbers().takeOne(stats())
  expect(freshness.isStale).toBe(false)
  connection.answered(new Problem(503, { error: { code: 'store_unavailable', message: '', field: null } }))
  expect(freshness.isStale).toBe(true)
  connection.answered()
  expect(freshness.isStale).toBe(false)
  connection.failed()
  expect(freshness.isStale).toBe(true)
})

test('numbers are stale when none have come for a while', () => {
  const [freshness, numbers] = [useFreshness(), useNumbers()]
  numbers.takeOne(stats())
  vi.advanceTimersByTime(15_000)
  expect(freshness.isStale).toBe(false)
  vi.advanceTimersByTime(2_000)
  expect(freshness.isStale).toBe(true)
  numbers.takeOne(stats({ at: 1_790_000_020 }))
  vi.advanceTimersByTime(1_000)
  expect(freshness.isStale).toBe(false)
})
