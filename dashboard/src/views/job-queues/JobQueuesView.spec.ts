import { flushPromises } from '@vue/test-utils'
import { expect, test, vi } from 'vitest'

import type { JobQueueView } from '@/api/types'
import { useNotificationStore } from '@/stores/notifications'
import { usePreferencesStore } from '@/stores/preferences'
import { mockApi, problemResponse, type ApiRequest } from '@/testing/api'
import { jobQueue } from '@/testing/fixtures'
import { getElement, mountApp, signInAs } from '@/testing/mount'

import JobQueuesView from './JobQueuesView.vue'

const UNTIL = Math.floor(Date.now() / 1000) + 3600
const ALL = [
  jobQueue(),
  jobQueue({ id: 'mails', target: { kind: 'http', url: 'https://mail.example/in' } }, { paused_until: UNTIL, dead: 0 }),
  jobQueue({ id: 'other', tenant: 'coral', paused: true }, { oldest_age: null, waiting: 0 }),
]

async function open(job_queues: JobQueueView[] = ALL, role: 'operator' | 'viewer' = 'operator'): Promise<ApiRequest[]> {
  const requests = mockApi({
    'GET /api/v1/job-queues': { job_queues },
    'POST /api/v1/job-queues/updates.fifo/pause': jobQueue({ paused: true }),
    'POST /api/v1/job-queues/updates.fifo/resume': jobQueue(),
  })
  signInAs(role)
  mountApp(JobQueuesView)
  await flushPromises()
  return requests
}

const row = (id: string) => getElement('tbody tr', id)
const cells = (id: string) => [...row(id).querySelectorAll('td')].map((it) => it.textContent.replaceAll('\u00a0', ' ').trim())

test('job queues are listed with state and statistics', async () => {
  await open()
  expect(cells('updates.fifo').map((text) => text.replace(/^(Target|Waiting|Running|Oldest job|Dead letters)\s*/, ''))).toEqual(
    ['crm.acme.example', '', '5', '2', '1 min 30 s', '1', 'Pause'],
  )
  expect(row('updates.fifo').querySelector('.badge.good')?.textContent.trim()).toBe('Running')
  expect(row('mails').textContent).toMatch(/Paused by the handler until \d\d:\d\d:\d\d/)
  expect(row('other').querySelector('.badge.warn')?.textContent.trim()).toBe('Paused')
  expect(getElement<HTMLAnchorElement>('tbody a').getAttribute('href')).toBe('/job-queues/updates.fifo')
})

test('operators pause and resume only job queues of their tenants', async () => {
  const requests = await open()
  expect(document.querySelectorAll('tbody button')).toHaveLength(2)
  getElement<HTMLButtonElement>('[aria-label="Pause updates.fifo"]').click()
  await flushPromises()
  expect(row('updates.fifo').querySelector('.badge')?.textContent.trim()).toBe('Paused')
  expect(useNotificationStore().notifications.map(({ text }) => text)).toEqual(['updates.fifo is paused. It accepts jobs and starts none.'])
  getElement<HTMLButtonElement>('[aria-label="Resume updates.fifo"]').click()
  await flushPromises()
  expect(row('updates.fifo').querySelector('.badge')?.textContent.trim()).toBe('Running')
  expect(requests.map(({ line }) => line).filter((line) => line.startsWith('POST'))).toEqual([
    'POST /api/v1/job-queues/updates.fifo/pause', 'POST /api/v1/job-queues/updates.fifo/resume',
  ])
})

test('viewers see statistics without actions', async () => {
  await open(ALL, 'viewer')
  expect(row('updates.fifo').textContent).toContain('crm.acme.example')
  expect(document.querySelectorAll('tbody button, .actions-cell')).toHaveLength(0)
})

test('the tenant filter applies, and can be removed', async () => {
  await open()
  usePreferencesStore().tenant = 'coral'
  await flushPromises()
  expect(document.querySelectorAll('tbody tr')).toHaveLength(1)
  usePreferencesStore().tenant = 'northern'
  await flushPromises()
  getElement<HTMLButtonElement>('.empty button', 'Show all tenants').click()
  await flushPromises()
  expect(document.querySelectorAll('tbody tr')).toHaveLength(3)
})

test('an empty list says where job queues come from', async () => {
  await open([])
  expect(getElement('.empty').textContent).toContain('in the settings file')
})

test('missing statistics are shown as unknown', async () => {
  await open([{ ...jobQueue(), stats: null }])
  expect(row('updates.fifo').textContent).toContain('–')
})

test('a problem can be retried', async () => {
  mockApi({ 'GET /api/v1/job-queues': problemResponse(503, 'store_unavailable') })
  signInAs()
  mountApp(JobQueuesView)
  await vi.waitFor(() => expect(getElement('[role=alert]').textContent).toContain('The store is unavailable.'))
  mockApi({ 'GET /api/v1/job-queues': { job_queues: ALL } })
  getElement<HTMLButtonElement>('button', 'Try again').click()
  await vi.waitFor(() => expect(document.querySelectorAll('tbody tr')).toHaveLength(3))
})
