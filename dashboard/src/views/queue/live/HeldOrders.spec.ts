import { flushPromises } from '@vue/test-utils'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import { mockApi, problemResponse } from '@/testing/api'
import { jobQueue } from '@/testing/fixtures'
import { mountApp } from '@/testing/mount'

import HeldOrders from './HeldOrders.vue'

beforeEach(() => void vi.useFakeTimers({ now: 1_790_000_000_000 }))
afterEach(() => void vi.useRealTimers())

const text = () => document.body.textContent.replaceAll('\u00a0', ' ')

async function pass(milliseconds: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(milliseconds)
  await flushPromises()
}

test('only orders whose outcome is still unknown are counted', async () => {
  let unresolved = 1
  mockApi({
    'GET /api/v1/job-queues/orders.fifo': () => jobQueue({ id: 'orders.fifo', target: { kind: 'origin' } }, { unknown: 3, unresolved }),
  })
  mountApp(HeldOrders, { jobQueue: 'orders.fifo' })
  await pass(1)
  expect(text()).toContain('Outcome unknown1')
  expect(document.querySelectorAll('dd.bad')).toHaveLength(1)
  unresolved = 0
  await pass(5_000)
  expect(text()).toContain('Outcome unknown0')
  expect(document.querySelector('dd.bad')).toBeNull()
})

test('held orders are shown with the pace at which they are sent', async () => {
  let acknowledged = 100
  let failed = 0
  mockApi({
    'GET /api/v1/job-queues/orders.fifo': () =>
      jobQueue({ id: 'orders.fifo', target: { kind: 'origin' } }, { waiting: 40, running: 2, acknowledged, failed, unknown: 5, unresolved: 3 }),
  })
  mountApp(HeldOrders, { jobQueue: 'orders.fifo' })
  await pass(1)
  for (const shown of ['Held orders: orders.fifo', 'Held42', 'Sent per minute–', 'Outcome unknown3']) expect(text()).toContain(shown)
  expect(document.querySelector('h2 a')?.getAttribute('href')).toBe('/job-queues/orders.fifo')
  acknowledged = 110
  // Attempts without a connection send nothing.
  failed = 50
  await pass(5_000)
  expect(text()).toContain('Sent per minute120')
})

test('held orders say so while their numbers cannot be read', async () => {
  let stored = true
  mockApi({
    'GET /api/v1/job-queues/orders.fifo': () =>
      stored ? jobQueue({ id: 'orders.fifo', target: { kind: 'origin' } }, { waiting: 40, running: 2 }) : problemResponse(503, 'store_unavailable'),
  })
  mountApp(HeldOrders, { jobQueue: 'orders.fifo' })
  await pass(1)
  expect(text()).not.toContain('cannot be read')
  stored = false
  await pass(60_000)
  for (const shown of ['The statistics cannot be read', 'Held42']) expect(text()).toContain(shown)
})
