import { flushPromises } from '@vue/test-utils'
import { expect, test } from 'vitest'

import { useStatsStore } from '@/stores/stats'
import { mockApi } from '@/testing/api'
import { settings, stats } from '@/testing/fixtures'
import { mountApp, signInAs } from '@/testing/mount'

import QueueView from './QueueView.vue'

test('the header shows the state and the alert of the queue', async () => {
  const now = stats({ waiting: 9, active: 100, attack_mode_until: 1_790_000_600, wait_seconds: { p50: 3600, p90: 5400 } })
  mockApi({ 'GET /api/v1/queues/acme-tour': settings(), 'GET /api/v1/queues/acme-tour/stats': now })
  signInAs()
  useStatsStore().setQueue(now)
  const page = mountApp(QueueView, { queue: 'acme-tour' })
  await flushPromises()
  expect(page.findAll('header .badge').map((badge) => badge.text())).toEqual(['Open', 'Attack mode', 'Quota in use', 'Long estimated wait'])
})
