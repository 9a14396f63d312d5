import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import { Problem } from '@/api/problem'
import { stats } from '@/testing/fixtures'

import { useConnectionStore } from './connection'
import { useFreshnessStore } from './freshness'
import { useStatsStore } from './stats'

const PROBLEM = { type: 'about:blank', title: '', status: 400 }

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('stats are stale while the store or server is unavailable', () => {
  const [freshness, connection] = [useFreshnessStore(), useConnectionStore()]
  useStatsStore().setQueue(stats())
  expect(freshness.isStale).toBe(false)
  connection.answered(new Problem(503, { ...PROBLEM, code: 'store_unavailable', detail: '' }))
  expect(freshness.isStale).toBe(true)
  connection.answered()
  expect(freshness.isStale).toBe(false)
  connection.failed()
  expect(freshness.isStale).toBe(true)
})

test('stats are stale after 15 seconds without an update', () => {
  const [freshness, statsStore] = [useFreshnessStore(), useStatsStore()]
  statsStore.setQueue(stats())
  vi.advanceTimersByTime(15_000)
  expect(freshness.isStale).toBe(false)
  vi.advanceTimersByTime(2_000)
  expect(freshness.isStale).toBe(true)
  statsStore.setQueue(stats({ at: 1_790_000_020 }))
  vi.advanceTimersByTime(1_000)
  expect(freshness.isStale).toBe(false)
})
