import { flushPromises } from '@vue/test-utils'
import { expect, test, vi } from 'vitest'

import { mockApi, problemResponse, type ApiRequest } from '@/testing/api'
import { jobQueue } from '@/testing/fixtures'
import { getElement, mountApp, signInAs } from '@/testing/mount'

import ScheduleDialog from './ScheduleDialog.vue'

const nightly = { id: 'nightly', cron: '30 4 * * *', time_zone: 'Europe/Berlin', group_id: 'stock', payload: '{"full":true}', content_type: 'application/json' }
const field = (label: string) => getElement<HTMLInputElement>(`#${getElement<HTMLLabelElement>('[role=dialog] label', label).htmlFor}`)
const submit = () => getElement('[role=dialog] form').dispatchEvent(new Event('submit'))

async function write(label: string, value: string): Promise<void> {
  const input = field(label)
  input.value = value
  input.dispatchEvent(new Event('input'))
  await flushPromises()
}

async function open(schedule: string | undefined, answer: Response = Response.json(jobQueue())): Promise<ApiRequest[]> {
  const requests = mockApi({ 'PATCH /api/v1/job-queues/updates.fifo': answer })
  signInAs('operator')
  mountApp(ScheduleDialog, { open: true, jobQueue: jobQueue({ schedules: [nightly] }), ...(schedule && { schedule }) })
  await flushPromises()
  return requests
}

test('a schedule is added behind the others', async () => {
  const requests = await open(undefined)
  await write('ID', ' hourly ')
  await write('Times', '@hourly')
  await write('Group', 'stock')
  submit()
  const added = { id: 'hourly', cron: '@hourly', time_zone: 'UTC', group_id: 'stock', payload: '{}', content_type: 'application/json' }
  await vi.waitFor(() => expect(requests[0]?.body).toEqual({ schedules: [nightly, added] }))
  expect(requests[0]?.headers.get('if-match')).toBe('"3"')
})

test('a schedule is changed in its place', async () => {
  const requests = await open('nightly')
  expect(document.body.textContent).toContain('Edit schedule nightly')
  await write('Times', '0 5 * * *')
  submit()
  await vi.waitFor(() => expect(requests[0]?.body).toEqual({ schedules: [{ ...nightly, cron: '0 5 * * *' }] }))
})

test('errors are shown at their fields', async () => {
  const errors = [{ field: 'schedules[1].cron', code: 'cron', detail: 'must be a cron expression', params: {} }]
  await open(undefined, problemResponse(422, 'validation_failed', { errors }))
  submit()
  await vi.waitFor(() => expect(field('Times').getAttribute('aria-invalid')).toBe('true'))
})
