import { flushPromises } from '@vue/test-utils'
import { expect, test, vi } from 'vitest'

import { mockApi } from '@/testing/api'
import { jobQueue } from '@/testing/fixtures'
import { getElement, mountApp, signInAs } from '@/testing/mount'

import { useConfirmationStore } from '@/stores/confirmation'

import JobQueueSchedules from './JobQueueSchedules.vue'

const schedules = [
  { id: 'nightly', cron: '30 4 * * *', time_zone: 'Europe/Berlin', next_run_at: 1_790_000_000 },
  { id: 'once', cron: '0 0 29 2 *', time_zone: 'UTC', next_run_at: null },
]
const PATH = '/api/v1/job-queues/stock/schedules'
const stock = jobQueue({ id: 'stock', schedules: schedules.map(({ id, cron }) => ({ id, cron, payload: '{}' })) })
const table = () => getElement('table')

test('schedules are shown with their next runs', async () => {
  mockApi({ [`GET ${PATH}`]: { schedules } })
  signInAs('viewer')
  mountApp(JobQueueSchedules, { jobQueue: stock, canEdit: false })
  await flushPromises()
  expect(table().textContent).toMatch(/nightly\s*30 4 \* \* \*\s*Europe\/Berlin\s*Next run\s*\d/)
  expect(table().textContent).toContain('Never')
  expect(document.querySelector('button')).toBeNull()
})

test('a run gives the job that it enqueued', async () => {
  const enqueued = { job_id: '0NPWV1MDQB2XKF3Y0T5DWZQ', job_queue: 'stock', state: 'queued', duplicate: false }
  const requests = mockApi({ [`GET ${PATH}`]: { schedules }, [`POST ${PATH}/nightly/run`]: Response.json(enqueued, { status: 202 }) })
  signInAs('operator')
  const ran = vi.fn()
  mountApp(JobQueueSchedules, { jobQueue: stock, canEdit: true, onRan: ran })
  await flushPromises()
  getElement('button', 'Run now').click()
  await vi.waitFor(() => expect(ran).toHaveBeenCalledWith('0NPWV1MDQB2XKF3Y0T5DWZQ'))
  expect(requests.filter(({ line }) => line.startsWith('POST'))).toHaveLength(1)
})

test('a schedule is removed after a question', async () => {
  const requests = mockApi({ [`GET ${PATH}`]: { schedules }, 'PATCH /api/v1/job-queues/stock': stock })
  signInAs('operator')
  const saved = vi.fn()
  mountApp(JobQueueSchedules, { jobQueue: stock, canEdit: true, onSaved: saved })
  await flushPromises()
  getElement('button', 'Remove').click()
  await vi.waitFor(() => expect(useConfirmationStore().pending?.title).toBe('Remove the schedule nightly?'))
  useConfirmationStore().pending?.answer(true)
  await vi.waitFor(() => expect(saved).toHaveBeenCalled())
  const patch = requests.find(({ line }) => line.startsWith('PATCH'))
  expect(patch?.body).toEqual({ schedules: [{ id: 'once', cron: '0 0 29 2 *', payload: '{}' }] })
})
