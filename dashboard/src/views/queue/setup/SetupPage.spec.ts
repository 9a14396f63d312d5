import { flushPromises } from '@vue/test-utils'
import { expect, test } from 'vitest'

import { provideQueue } from '@/views/queue/useQueue'
import { useStatsStore } from '@/stores/stats'
import { mountApp, signInAs } from '@/testing/mount'
import { settings, stats } from '@/testing/fixtures'
import { mockApi } from '@/testing/api'

import SetupPage from './SetupPage.vue'

const links = () => [...document.querySelectorAll<HTMLAnchorElement>('.setup a')].map((link) => link.getAttribute('href'))
const done = () => [...document.querySelectorAll('.setup li')].map((step) => (step.textContent ?? '').includes('Done'))

async function open(hosts: string[], statsStore: Parameters<typeof stats>[0]): Promise<void> {
  const now = settings({ hosts, mode: 'paused' })
  mockApi({ 'GET /api/v1/queues/acme-tour': now })
  signInAs()
  useStatsStore().setQueue(stats(statsStore))
  mountApp(SetupPage, {}, () => provideQueue(() => 'acme-tour'))
  await flushPromises()
}

test('every step links to its page', async () => {
  await open(['*.example.com', 'tickets.example.com'], { mode: 'paused', waiting: 0, active: 0, joined_per_minute: 0 })
  expect(links()).toEqual(['/queues/acme-tour/integration', 'https://tickets.example.com/', '/queues/acme-tour/rules', '/queues/acme-tour', '/queues/acme-tour'])
  expect(done()).toEqual([false, false, false, false, false])
})

test('visitors and mode mark steps as done', async () => {
  await open(['tickets.example.com'], { mode: 'open', waiting: 3 })
  expect(done()).toEqual([true, true, false, false, true])
})

test('a wildcard host has no link', async () => {
  await open(['*'], { mode: 'paused' })
  expect(links()).toHaveLength(4)
})
