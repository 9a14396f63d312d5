import { expect, test } from 'vitest'

import type { QueueHistory } from '@/api/types'
import { report } from '@/testing/fixtures'

import { peaksOf, reportRows, waitBuckets } from './report'

test('rows have shares of the visitors who joined', () => {
  const rows = reportRows(report({ joined: 200, admitted: 150, left: 0 }))
  expect(rows.map(({ metric }) => metric)).toEqual(['joined', 'confirmed', 'admitted', 'abandoned', 'returned', 'expired', 'left', 'ended'])
  expect(rows.find(({ metric }) => metric === 'admitted')).toEqual({ metric: 'admitted', visitors: 150, share: 0.75 })
  expect(reportRows(report({ joined: 0 }))[0]?.share).toBeNull()
})

test('buckets do not include shorter waits', () => {
  const waits = [{ le: 1, count: 5 }, { le: 60, count: 5 }, { le: 120, count: 17 }, { le: null, count: 20 }]
  expect(waitBuckets(waits)).toEqual([
    { over: 0, upTo: 1, visitors: 5, share: 0.25 },
    { over: 1, upTo: 60, visitors: 0, share: 0 },
    { over: 60, upTo: 120, visitors: 12, share: 0.6 },
    { over: 120, upTo: null, visitors: 3, share: 0.15 },
  ])
  expect(waitBuckets([{ le: null, count: 0 }])[0]?.share).toBe(0)
})

test('peaks are those of the time of the event', () => {
  const history: QueueHistory = {
    step_seconds: 300,
    columns: ['at', 'waiting', 'active', 'quota', 'joined', 'admitted'],
    points: [[0, 900, 1, 10, 900, 0], [600, 40, 0, 10, 50, 0], [900, 30, 5, 10, null, 10], [1200, 10, 10, 10, 5, 25], [1500, 0, 2, 10, 0, 0], [1800, 99, 10, 10, 99, 99]],
  }
  expect(peaksOf(history, 700, 1700, 900)).toEqual({
    waiting: { value: 40, at: 600 },
    active: { value: 10, at: 1200 },
    joined: { value: 10, at: 600 },
    admitted: { value: 5, at: 1200 },
    // Half of the slots, then none; nobody was admitted in the lobby, and nobody waits at the end.
    freeSlots: 0.25,
  })
  expect(peaksOf({ ...history, points: [] }, 0, 1000, 0)).toEqual({})
  const missing = [null, null, null, null, null]
  const gap = { ...history, points: [[0, 5, 5, 10, 25, 0], [300, ...missing], [600, ...missing], [900, 5, 5, 10, 60, 0]] }
  expect(peaksOf(gap, 0, 1000, 0).joined, 'the last point has the visitors of three steps').toEqual({ value: 5, at: 0 })
  expect(peaksOf({ ...history, points: [[600, null, null, null, null, null]] }, 0, 1000, 0), 'nothing was recorded').toEqual({})
})

test('a number that is not known is no peak of 0', () => {
  const history: QueueHistory = { step_seconds: 60, columns: [], points: [[0, 40, 2, 10, null, null]] }
  expect(peaksOf(history, 0, 60, 0)).toEqual({ waiting: { value: 40, at: 0 }, active: { value: 2, at: 0 }, freeSlots: 0.8 })
})
