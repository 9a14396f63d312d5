import { flushPromises } from '@vue/test-utils'
import { expect, test, vi } from 'vitest'

import { mockApi } from '@/testing/api'
import { getElement, mountApp, signInAs } from '@/testing/mount'

import JobQueueWebhook from './JobQueueWebhook.vue'

const webhook = { event_types: ['queue.reset', 'job.dead_lettered'] as const, queues: ['tour', 'gala'] }
const text = () => document.body.textContent.replaceAll(/\s+/g, ' ')

test('viewers see the events and the queues', () => {
  signInAs('viewer')
  mountApp(JobQueueWebhook, { jobQueue: 'hooks', webhook, canEdit: false })
  expect(text()).toContain('A queue was reset queue.reset')
  expect(text()).toContain('A job became a dead letter job.dead_lettered')
  expect(text()).toContain('tour, gala')
  expect(document.querySelector('button')).toBeNull()
})

test('all queues are named', () => {
  signInAs('viewer')
  mountApp(JobQueueWebhook, { jobQueue: 'hooks', webhook: { ...webhook, queues: ['*'] }, canEdit: false })
  expect(text()).toContain('All queues of the tenant')
})

test('a test gives the job that it enqueued', async () => {
  const enqueued = { job_id: '0NPWV1MDQB2XKF3Y0T5DWZQ', job_queue: 'hooks', state: 'queued', duplicate: false }
  const requests = mockApi({ 'POST /api/v1/job-queues/hooks/webhook/test': Response.json(enqueued, { status: 202 }) })
  signInAs('operator')
  const tested = vi.fn()
  mountApp(JobQueueWebhook, { jobQueue: 'hooks', webhook, canEdit: true, onTested: tested })
  await flushPromises()
  getElement('button', 'Send test event').click()
  await vi.waitFor(() => expect(tested).toHaveBeenCalledWith('0NPWV1MDQB2XKF3Y0T5DWZQ'))
  expect(requests).toHaveLength(1)
})
