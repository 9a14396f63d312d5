import { flushPromises } from '@vue/test-utils'
import { expect, test, vi } from 'vitest'

import { getElement, mountApp, signInAs } from '@/testing/mount'
import { mockApi, type ApiRequest } from '@/testing/api'

import ImportForm from './ImportForm.vue'

const PLAN = 'POST /api/v1/settings?validate=true'
const plan = { plan: { tenants: [], queues: [{ id: 'acme-tour', created: true, changes: [] }], removed: [], kept: [] }, applied: false, skipped: [] }

async function choose(text: string): Promise<ApiRequest[]> {
  const requests = mockApi({ [PLAN]: plan })
  await submit(text)
  return requests
}

async function submit(text: string): Promise<void> {
  signInAs('superuser', null)
  mountApp(ImportForm)
  const input = getElement<HTMLInputElement>('input[type=file]')
  // jsdom does not implement File.text().
  Object.defineProperty(input, 'files', { value: [{ name: 'vestibule.toml', text: () => Promise.resolve(text) }] })
  input.dispatchEvent(new Event('change'))
  await flushPromises()
}

test('a TOML file is sent as JSON to plan the import', async () => {
  const requests = await choose('[[queues]]\nid = "acme-tour"\nhosts = ["a.example"]\n')
  await vi.waitFor(() => expect(requests.map(({ line }) => line)).toEqual([PLAN]))
  expect(requests[0]?.body).toEqual({ queues: [{ id: 'acme-tour', hosts: ['a.example'] }] })
  await vi.waitFor(() => expect(document.body.textContent).toContain('Changes'))
})

test('an invalid file shows the line and is not sent', async () => {
  const requests = await choose('[[queues]]\nid = \n')
  await vi.waitFor(() => expect(getElement('.field .error').textContent).toContain('The file is not valid TOML: line 2.'))
  expect(requests).toEqual([])
})

test('differences of changed queues are shown at once', async () => {
  const queues = [
    { id: 'acme-tour', created: false, changes: [{ field: 'quota', from: 1, to: 777 }] },
    { id: 'acme-new', created: true, changes: [] },
  ]
  mockApi({ [PLAN]: { ...plan, plan: { ...plan.plan, queues } } })
  await submit('[[queues]]\nid = "acme-tour"\n')
  await vi.waitFor(() => expect(getElement('details[open]').textContent).toContain('777'))
  expect(document.querySelectorAll('details:not([open])')).toHaveLength(1)
})

test('settings that cannot be read are named', async () => {
  const changes = [{ field: 'quota', from: null, to: 777 }]
  const queues = [{ id: 'acme-tour', created: false, replaces_unreadable: true, changes }]
  mockApi({ [PLAN]: { ...plan, plan: { ...plan.plan, queues } } })
  await submit('[[queues]]\nid = "acme-tour"\n')
  await vi.waitFor(() => expect(getElement('details:not([open])').textContent).toMatch(/changed.*replaces settings that cannot be read/))
})

test('changed, removed and skipped job queues are shown', async () => {
  const job_queues = [{ id: 'updates.fifo', created: false, changes: [{ field: 'concurrency', from: 10, to: 77 }] }]
  const planned = { ...plan.plan, queues: [], job_queues, removed_job_queues: ['mails'] }
  mockApi({
    [PLAN]: { ...plan, plan: planned },
    'POST /api/v1/settings': { ...plan, plan: planned, applied: true, skipped_job_queues: ['mails'] },
    'GET /api/v1/tenants': { tenants: [] },
  })
  await submit('[[job_queues]]\nid = "updates.fifo"\n')
  await vi.waitFor(() => expect(getElement('details[open]').textContent).toMatch(/updates\.fifo.*Jobs at a time.*10.*77/))
  expect(document.body.textContent).toContain('Job queues that are removed if they have no jobs or dead lettersmails')
  getElement<HTMLButtonElement>('button', 'Import …').click()
  await vi.waitFor(() => expect(getElement('.alert-box').textContent).toContain('1 job queue was skipped'))
})
