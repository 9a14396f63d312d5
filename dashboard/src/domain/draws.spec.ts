import { expect, test } from 'vitest'

import { drawSecondsOf, newSalt, proposedDrawSeconds, START_LIMITS, startRate } from './draws'

test('visitors of the lobby come within two thirds of the draw', () => {
  expect([startRate(400_000, 30), startRate(1_000_000, 75), startRate(0, 30)]).toEqual([20_000, 20_000, 0])
})

test('the proposed draw keeps the rate within the limit', () => {
  for (const [tickets, seconds] of [[400_001, 31], [1_000_000, 75], [10_000_000, 600]] as const) {
    expect(proposedDrawSeconds(tickets, START_LIMITS.functions)).toBe(seconds)
  }
  expect(startRate(1_000_000, proposedDrawSeconds(1_000_000, START_LIMITS.serve))).toBeLessThanOrEqual(START_LIMITS.serve)
})

test('only a draw takes time', () => {
  const event = { id: 'sale', starts_at: '2027-03-04T10:00:00Z', ends_at: '2027-03-04T14:00:00Z', suspended: false } as const
  expect(drawSecondsOf({ ...event, order: 'draw' })).toBe(30)
  expect(drawSecondsOf({ ...event, order: 'draw', draw_seconds: 60 })).toBe(60)
  expect(drawSecondsOf({ ...event, order: 'draw', beacon: 'drand-quicknet' })).toBe(45)
  expect(drawSecondsOf({ ...event, order: 'arrival', draw_seconds: 60 })).toBe(0)
})

test('salts differ and are valid', () => {
  expect(newSalt()).toMatch(/^[0-9a-f]{16}$/)
  expect(newSalt()).not.toBe(newSalt())
})
