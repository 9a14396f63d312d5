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

test('missing minutes count as zero', () => {
  expect(waitingByMinute([[35_940, 3]], 36_000).slice(-2)).toEqual([0, 3])
  expect(waitingByMinute([], 36_000)).toHaveLength(RECENT_MINUTES - 1)
})
