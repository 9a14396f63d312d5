import { flushPromises } from '@vue/test-utils'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import { mockApi } from '@/testing/api'
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

test('held orders are shown with the pace at which they are sent', async () => {
  let acknowledged = 100
  mockApi({
    'GET /api/v1/job-queues/orders.fifo': () =>
      jobQueue({ id: 'orders.fifo', target: { kind: 'origin' } }, { waiting: 40, running: 2, acknowledged, failed: 0, unknown: 3 }),
  })
  mountApp(HeldOrders, { jobQueue: 'orders.fifo' })
  await pass(1)
  for (const shown of ['Held orders: orders.fifo', 'Held42', 'Sent per minute–', 'Outcome became unknown3']) expect(text()).toContain(shown)
  expect(document.querySelector('h2 a')?.getAttribute('href')).toBe('/job-queues/orders.fifo')
  acknowledged = 110
  await pass(5_000)
  expect(text()).toContain('Sent per minute120')
})
