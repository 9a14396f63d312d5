import { flushPromises } from '@vue/test-utils'
import { expect, test, vi } from 'vitest'

import { useTenantsStore } from '@/stores/tenants'
import { jobQueue } from '@/testing/fixtures'
import { getElement, mountApp, signInAs } from '@/testing/mount'
import { problemResponse, mockApi } from '@/testing/api'

import TokenForm from './TokenForm.vue'

async function open(role: 'operator' | 'superuser' = 'operator', created = vi.fn()) {
  signInAs(role)
  useTenantsStore().tenants = [{ id: 'acme', name: 'Acme Live', color: null, logo: null, domains: null, origins: null, max_job_queues: null }]
  mountApp(TokenForm, { open: true, onCreated: created })
  await flushPromises()
  return created
}

async function write(selector: string, value: string): Promise<void> {
  const field = getElement<HTMLInputElement>(selector)
  field.value = value
  field.dispatchEvent(new Event('input'))
  await flushPromises()
}

test('a token’s role is limited to the operator’s role', async () => {
  await open()
  expect([...document.querySelectorAll('[type=radio]')].map((it) => (it as HTMLInputElement).value)).toEqual(['viewer', 'operator'])
})

test('a created token is emitted with its secret', async () => {
  const answer = { secret: 'vestibule_x', token: { id: 'x', name: 'deploy' } }
  const requests = mockApi({ 'POST /api/v1/tokens': answer })
  const created = await open('superuser')
  await write('[role=dialog] input[maxlength="120"]', 'deploy')
  getElement('[role=dialog] form').dispatchEvent(new Event('submit'))
  await flushPromises()
  // The only tenant is preselected.
  expect(requests.find(({ line }) => line.startsWith('POST'))?.body).toEqual({ name: 'deploy', role: 'viewer', tenants: ['acme'], expires_in: 90 * 86_400 })
  await vi.waitFor(() => expect(created).toHaveBeenCalledWith(answer))
})

test('server errors are shown at their fields', async () => {
  const errors = [{ code: 'takes', field: 'tenants[0]', detail: 'names no tenant that you may use' }]
  mockApi({ 'POST /api/v1/tokens': problemResponse(422, 'validation_failed', { errors }) })
  await open()
  getElement('[role=dialog] form').dispatchEvent(new Event('submit'))
  await vi.waitFor(() => expect(getElement('.checkboxes .error').textContent).toContain('Names no tenant that you may use'))
})

test('a token can be limited to jobs if job queues exist', async () => {
  const requests = mockApi({ 'GET /api/v1/job-queues': { job_queues: [jobQueue()] }, 'POST /api/v1/tokens': {} })
  await open()
  expect(document.querySelector('[role=dialog] label.row')).toBeNull()
  getElement<HTMLInputElement>('[type=radio][value=operator]').click()
  await flushPromises()
  getElement('[role=dialog] label.row', 'Jobs only').querySelector('input')!.click()
  getElement('[role=dialog] form').dispatchEvent(new Event('submit'))
  await flushPromises()
  expect(requests.find(({ line }) => line.startsWith('POST'))?.body).toMatchObject({ role: 'operator', only: 'jobs' })
})

test('the limit to jobs is not offered without job queues', async () => {
  mockApi({ 'GET /api/v1/job-queues': { job_queues: [] } })
  await open()
  getElement<HTMLInputElement>('[type=radio][value=operator]').click()
  await flushPromises()
  expect(document.querySelector('[role=dialog] label.row')).toBeNull()
})
