import { flushPromises } from '@vue/test-utils'
import { expect, test, vi } from 'vitest'
import { h, reactive } from 'vue'

import { mockApi, problemResponse, type ApiRequest } from '@/testing/api'
import { jobQueue } from '@/testing/fixtures'
import { getElement, mountApp, signInAs } from '@/testing/mount'
import { useTenantsStore } from '@/stores/tenants'

import JobQueueForm from './JobQueueForm.vue'

const tenants = { tenants: [{ id: 'acme', name: 'Acme Live', color: null, logo: null, domains: null, origins: null }] }
const field = (label: string) => getElement<HTMLInputElement>(`#${getElement<HTMLLabelElement>('[role=dialog] label', label).htmlFor}`)

async function write(label: string, value: string): Promise<void> {
  const input = field(label)
  input.value = value
  input.dispatchEvent(new Event('input'))
  await flushPromises()
}

async function open(answers: Parameters<typeof mockApi>[0], props: object = {}): Promise<ApiRequest[]> {
  const requests = mockApi({ 'GET /api/v1/tenants': tenants, ...answers })
  signInAs('operator')
  await useTenantsStore().load()
  mountApp(JobQueueForm, { open: true, ...props })
  await flushPromises()
  return requests
}

const sent = (requests: ApiRequest[], method: string) => requests.find(({ line }) => line.startsWith(method))
const submit = () => getElement('[role=dialog] form').dispatchEvent(new Event('submit'))

test('a job queue is created with its defaults', async () => {
  const requests = await open({ 'POST /api/v1/job-queues': Response.json(jobQueue(), { status: 201 }) })
  await write('ID', ' updates.fifo ')
  await write('Address of the handler', 'https://crm.acme.example/jobs')
  await write('Jobs at a time', '20')
  submit()
  await vi.waitFor(() => expect(sent(requests, 'POST')?.body).toMatchObject({
    id: 'updates.fifo', tenant: 'acme', target: { kind: 'http', url: 'https://crm.acme.example/jobs' }, concurrency: 20, max_attempts: 8, retention: 345_600,
  }))
  expect(sent(requests, 'POST')?.body).not.toHaveProperty('dispatches_per_minute')
})

test('held orders have their own defaults and no handler', async () => {
  const requests = await open({ 'POST /api/v1/job-queues': Response.json(jobQueue(), { status: 201 }) })
  await write('ID', 'orders.fifo')
  const target = field('Target') as unknown as HTMLSelectElement
  target.selectedIndex = 2
  target.dispatchEvent(new Event('change'))
  await flushPromises()
  expect(document.body.textContent).not.toContain('Address of the handler')
  submit()
  await vi.waitFor(() => expect(sent(requests, 'POST')?.body).toMatchObject({ target: { kind: 'origin' }, timeout: 60, retention: 900 }))
})

test('only changed settings are sent, with the revision', async () => {
  const shown = jobQueue({ dispatches_per_minute: 600 })
  const requests = await open({ 'PATCH /api/v1/job-queues/updates.fifo': jobQueue() }, { jobQueue: shown })
  await write('Jobs started per minute', '')
  await write('Timeout of a call', '60')
  submit()
  await vi.waitFor(() => expect(sent(requests, 'PATCH')?.body).toEqual({ dispatches_per_minute: null, timeout: 60 }))
  expect(sent(requests, 'PATCH')?.headers.get('if-match')).toBe('"3"')
})

test('a change made elsewhere meanwhile is not undone', async () => {
  const props = reactive({ open: true, jobQueue: jobQueue() })
  const requests = mockApi({ 'GET /api/v1/tenants': tenants, 'PATCH /api/v1/job-queues/updates.fifo': jobQueue() })
  signInAs('operator')
  await useTenantsStore().load()
  mountApp(() => h(JobQueueForm, { ...props }))
  await flushPromises()
  props.jobQueue = { ...jobQueue({ concurrency: 100 }), revision: 4 }
  await write('Timeout of a call', '60')
  submit()
  await vi.waitFor(() => expect(sent(requests, 'PATCH')?.body).toEqual({ timeout: 60 }))
  expect(sent(requests, 'PATCH')?.headers.get('if-match')).toBe('"3"')
})

test('errors are shown at their fields, also at collapsed ones', async () => {
  const errors = [
    { code: 'origin_outside', field: 'target.url', detail: 'must be at one of the origins of the tenant', params: { origin: 'https://evil.example', origins: 'https://crm.acme.example' } },
    { code: 'max_backoff_too_short', field: 'max_backoff', detail: 'must not be below min_backoff', params: {} },
  ]
  await open({ 'POST /api/v1/job-queues': problemResponse(422, 'validation_failed', { errors }) })
  submit()
  await vi.waitFor(() => expect(field('Address of the handler').getAttribute('aria-invalid')).toBe('true'))
  expect(field('Longest wait between attempts').getAttribute('aria-invalid')).toBe('true')
  expect(getElement<HTMLDetailsElement>('[role=dialog] details').open).toBe(true)
})

test('a taken ID is shown at its field', async () => {
  await open({ 'POST /api/v1/job-queues': problemResponse(409, 'already_exists', { detail: 'This ID is already used.' }) })
  await write('ID', 'mails')
  submit()
  await vi.waitFor(() => expect(field('ID').getAttribute('aria-invalid')).toBe('true'))
})
