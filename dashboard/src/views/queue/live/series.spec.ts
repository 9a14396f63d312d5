import { expect, test } from 'vitest'

import { stats } from '@/testing/fixtures'

import { series, withNow } from './series'

const columns = ['at', 'waiting', 'active', 'quota', 'joined', 'admitted']
const history = (points: (number | null)[][], step_seconds = 60) => ({ step_seconds, columns, points })

test('steps in which nothing was recorded are unknown', () => {
  const points = [[600, 5, 2, 10, 5, 2], [660, 0, 0, 10, 0, 0], [720, null, null, null, null, null], [780, 7, 2, 20, 1, 1]]
  const { at, waiting, quota, admitted } = series(history(points), 0, 930)
  expect(at).toEqual([600, 660, 720, 780, 840])
  expect(waiting).toEqual([5, 0, null, 7, null])
  expect(quota).toEqual([10, 10, null, 20, null])
  expect(admitted, 'the fourth point has the visitors of two steps').toEqual([2, 0, null, 0.5, null])
})

test('the current step is shown once it was recorded', () => {
  const points = [[600, 5, 2, 10, 5, 2], [660, 6, 2, 10, 1, 0]]
  expect(series(history(points), 0, 719).at).toEqual([600, 660])
  expect(series(history(points), 0, 720).at).toEqual([600, 660])
  expect(series(history(points), 0, 661).at).toEqual([600, 660])
})

test('the series starts at its first point', () => {
  expect(series(history([]), 0, 900).at).toEqual([])
  expect(series(history([[780, 7, 2, 20, null, null]]), 0, 830).at).toEqual([780])
})

test('unknown values stay null', () => {
  expect(series(history([[780, 7, 2, 20, null, null]]), 0, 830).joined).toEqual([null])
})

test('admissions are per minute for every step', () => {
  expect(series(history([[600, 5, 2, 10, 50, 25]], 300), 0, 700).admitted).toEqual([5])
})

test('current stats are the last point unless older', () => {
  const known = series(history([[600, 5, 2, 10, 5, 2]]), 0, 650)
  expect(withNow(known, stats({ at: 630, waiting: 9 })).waiting).toEqual([5, 9])
  expect(withNow(known, stats({ at: 600, waiting: 9 })).waiting).toEqual([5])
})
