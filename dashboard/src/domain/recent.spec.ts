import { expect, test } from 'vitest'

import { RECENT_MINUTES } from '@/stores/stats'

import { waitingByMinute } from './recent'

// The API returns half an hour, without the minute in which it started.
test('a continuous line has no gap at any second', () => {
  for (const now of [36_000, 36_001, 36_059]) {
    const received = Array.from({ length: RECENT_MINUTES * 2 }, (_, index) => [index * 60 + 36_000 - RECENT_MINUTES * 90, 7] as const)
    const points = received.filter(([at]) => at > now - RECENT_MINUTES * 60 && at < now)
    expect(waitingByMinute(points, now)).toEqual(Array.from({ length: RECENT_MINUTES - 1 }, () => 7))
  }
})

test('minutes in which nothing was recorded are unknown', () => {
  expect(waitingByMinute([[35_700, 3], [35_820, 4], [35_940, 5]], 36_000).slice(-6)).toEqual([null, 3, null, 4, 4, 5])
  expect(waitingByMinute([], 36_000)).toEqual(Array.from({ length: RECENT_MINUTES - 1 }, () => null))
})

test('a minute that was not loaded yet is like the one before', () => {
  expect(waitingByMinute([[35_760, 2], [35_820, 3]], 36_000).slice(-4)).toEqual([2, 3, 3, 3])
  expect(waitingByMinute([[35_700, 2], [35_760, 3]], 36_000).slice(-4)).toEqual([3, null, null, null])
})
