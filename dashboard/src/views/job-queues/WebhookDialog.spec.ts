import { flushPromises } from '@vue/test-utils'
import { expect, test, vi } from 'vitest'

import type { JobQueueWebhook } from '@/api/types'
import { mockApi, problemResponse, type ApiRequest } from '@/testing/api'
import { jobQueue } from '@/testing/fixtures'
import { getElement, mountApp, signInAs } from '@/testing/mount'

import WebhookDialog from './WebhookDialog.vue'

const PATH = 'PATCH /api/v1/job-queues/updates.fifo'
const checkbox = (type: string) => getElement<HTMLInputElement>(`[role=dialog] input[value="${type}"]`)
const submit = () => getElement('[role=dialog] form').dispatchEvent(new Event('submit'))

async function open(webhook: JobQueueWebhook | undefined, answer: Response = Response.json(jobQueue())): Promise<ApiRequest[]> {
  const requests = mockApi({ [PATH]: answer })
  signInAs('operator')
  mountApp(WebhookDialog, { open: true, jobQueue: jobQueue(webhook && { webhook }) })
  await flushPromises()
  return requests
}

async function toggle(type: string): Promise<void> {
  checkbox(type).click()
  await flushPromises()
}

test('the chosen events of all queues are saved', async () => {
  const requests = await open(undefined)
  await toggle('queue.admitted')
  await toggle('queue.updated')
  submit()
  await vi.waitFor(() => expect(requests[0]?.body).toEqual({ webhook: { event_types: ['queue.updated', 'queue.admitted'], queues: ['*'] } }))
  expect(requests[0]?.headers.get('if-match')).toBe('"3"')
})

test('without events, the webhook is removed', async () => {
  const requests = await open({ event_types: ['queue.reset'], queues: ['tour'] })
  expect(getElement<HTMLTextAreaElement>('textarea').value).toBe('tour')
  expect(checkbox('queue.reset').checked).toBe(true)
  await toggle('queue.reset')
  submit()
  await vi.waitFor(() => expect(requests[0]?.body).toEqual({ webhook: null }))
})

test('errors are shown at their fields', async () => {
  const errors = [{ field: 'webhook.queues[0]', code: 'webhook_queue', detail: 'must be the ID of a queue', params: {} }]
  await open({ event_types: ['queue.reset'], queues: ['Tour'] }, problemResponse(422, 'validation_failed', { errors }))
  submit()
  await vi.waitFor(() => expect(document.querySelector('.field.invalid .error')).not.toBeNull())
})
