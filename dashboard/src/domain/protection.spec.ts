import { readFileSync } from 'node:fs'

import { expect, test } from 'vitest'

import type { NetworkEntry } from '@/api/types'

import { firstVisitsPerSecond, halved, histogramRows, limitSteps, networksAbove, PROTECTION_DEFAULTS, rejectedBy, sum } from './protection'

const CELLS = 16

/** The histogram of sources with these numbers of joins, as the store keeps it. */
function histogramOf(sources: readonly number[]): number[] {
  const cells = new Array<number>(CELLS).fill(0)
  for (const joins of sources) {
    for (let join = 1; join <= joins; join += 1) {
      const cell = Math.min(CELLS - 1, Math.floor(Math.log2(join)))
      cells[cell] = (cells[cell] ?? 0) + 1
    }
  }
  return cells
}

const exactly = (sources: readonly number[], limit: number) => sum(sources.map((joins) => Math.max(0, joins - limit)))

const SOURCES = [1, 1, 1, 2, 3, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 987, 1597, 6000]

test('the prediction differs from exact counts by one cell at most', () => {
  const histogram = histogramOf(SOURCES)
  expect(sum(histogram)).toBe(sum(SOURCES))
  for (let limit = 1; limit <= 7000; limit += limit < 1100 ? 1 : 97) {
    const cell = histogram[Math.floor(Math.log2(limit))] ?? 0
    expect(Math.abs(rejectedBy(histogram, limit) - exactly(SOURCES, limit)), `limit ${limit}`).toBeLessThanOrEqual(cell)
  }
})

test('the prediction is exact at cell ends and for full cells', () => {
  const histogram = histogramOf(SOURCES)
  for (const limit of [1, 3, 7, 15, 31, 63, 127, 255, 511, 1023, 2047, 4095]) expect(rejectedBy(histogram, limit)).toBe(exactly(SOURCES, limit))
  const full = histogramOf([1023])
  for (let limit = 1; limit <= 1023; limit += 1) expect(rejectedBy(full, limit)).toBe(1023 - limit)
})

test('no limit and high limits reject nothing', () => {
  expect(rejectedBy(histogramOf(SOURCES), null)).toBe(0)
  expect(rejectedBy(histogramOf([20]), 60_000)).toBe(0)
  expect(rejectedBy([], 1)).toBe(0)
})

test('networks above a limit are counted by their class', () => {
  const entry = (joins: number, list: NetworkEntry['list'] = null) => ({ prefix: `${joins}`, joins, list })
  const networks = [entry(900), entry(800, 'shared'), entry(700, 'trusted'), entry(60), entry(40)]
  expect(networksAbove(networks, 49)).toEqual({ count: 3, isComplete: true })
  expect(networksAbove(networks, 50)).toEqual({ count: 2, isComplete: true })
  // Networks with fewer than 16 joins in a window are not listed.
  expect(networksAbove(networks, 20)).toEqual({ count: 4, isComplete: false })
  expect(networksAbove(Array.from({ length: 64 }, () => entry(900)), 50)).toEqual({ count: 64, isComplete: false })
  expect(networksAbove(networks, null)).toEqual({ count: 0, isComplete: true })
})

test('sliders offer whole limits with the setting and none', () => {
  const steps = limitSteps(37)
  expect(steps.slice(0, 12)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15])
  expect(steps).toContain(37)
  expect(steps.slice(-3)).toEqual([50_000, 60_000, null])
  expect(new Set(limitSteps(20)).size).toBe(limitSteps(20).length)
})

test('limits are half in attack mode and at least 1', () => {
  expect([20, 7, 1, null].map(halved)).toEqual([10, 3, 1, null])
})

test('a histogram is shown up to its last cell with joins', () => {
  expect(histogramRows([5, 0, 2, 0])).toEqual([{ from: 1, to: 1, joins: 5 }, { from: 2, to: 3, joins: 0 }, { from: 4, to: 7, joins: 2 }])
  expect(histogramRows([0, 0])).toEqual([])
  expect(histogramRows([0, 1])).toEqual([{ from: 1, to: 1, joins: 0 }, { from: 2, to: null, joins: 1 }])
})

test('first visits are averaged over ten seconds in a window', () => {
  const report = (windowSeconds: number, issued: number) => ({ windowSeconds, issued })
  expect(firstVisitsPerSecond([])).toBeNull()
  expect(firstVisitsPerSecond([report(400, 10)])).toBeNull()
  expect(firstVisitsPerSecond([report(400, 10), report(402, 30)])).toBe(10)
  expect(firstVisitsPerSecond([report(390, 0), report(395, 100), report(400, 150), report(405, 200)])).toBe(10)
  // A window begins: its count starts again.
  expect(firstVisitsPerSecond([report(599, 900), report(301, 500)])).toBeNull()
  expect(firstVisitsPerSecond([report(599, 900), report(301, 500), report(303, 520)])).toBe(10)
})

test('the defaults are those of the API', () => {
  const { Protection, ProofOfWork } = JSON.parse(readFileSync('../openapi.json', 'utf8')).components.schemas
  const { proof_of_work: proof, show_networks: isShown, ...others } = PROTECTION_DEFAULTS
  expect(isShown, 'the API does not state that of a flag').toBe(true)
  for (const [schema, defaults] of [[Protection, others], [ProofOfWork, proof]]) {
    for (const [field, value] of Object.entries(defaults)) {
      expect(schema.properties[field].description).toContain(`Default: ${JSON.stringify(value)}.`)
    }
  }
})
