import { flushPromises } from '@vue/test-utils'
import { expect, test, vi } from 'vitest'

import { getElement, mountApp, signInAs } from '@/testing/mount'
import { problemResponse, mockApi, type ApiRequest } from '@/testing/api'

import TenantForm from './TenantForm.vue'

const tenant = { id: 'acme', name: 'Acme Live', color: '#0a7d5a', logo: null, domains: ['acme.example'], origins: null, max_job_queues: null }
const field = (label: string) => getElement<HTMLInputElement>(`#${getElement<HTMLLabelElement>('[role=dialog] label', label).htmlFor}`)

async function write(label: string, value: string): Promise<void> {
  const input = field(label)
  input.value = value
  input.dispatchEvent(new Event('input'))
  await flushPromises()
}

async function open(props: object = {}, role: 'operator' | 'superuser' = 'superuser'): Promise<void> {
  signInAs(role, role === 'superuser' ? null : ['acme'])
  mountApp(TenantForm, { open: true, ...props })
  await flushPromises()
}

/** The body of the request that changes the tenant. */
const sent = (requests: ApiRequest[]) => requests.find(({ line }) => line.startsWith('PATCH'))?.body
const send = () => getElement('[role=dialog] form').dispatchEvent(new Event('submit'))

test('only changed fields are sent', async () => {
  const requests = mockApi({ 'PATCH /api/v1/tenants/acme': tenant, 'GET /api/v1/tenants': { tenants: [tenant] } })
  await open({ tenant })
  await write('Color', '')
  send()
  await vi.waitFor(() => expect(sent(requests)).toEqual({ color: null }))
})

test('the id follows the name until it is edited', async () => {
  await open()
  await write('Name', 'Acme Live')
  expect(field('ID').value).toBe('acme-live')
  await write('ID', 'acme')
  await write('Name', 'Acme Live 2027')
  expect(field('ID').value).toBe('acme')
})

test('server errors are shown at their fields', async () => {
  const errors = [{ code: 'takes', field: 'color', detail: 'takes a color such as "#0a7d5a"' }]
  mockApi({ 'POST /api/v1/tenants': problemResponse(422, 'validation_failed', { errors }) })
  await open()
  await write('Color', 'red')
  send()
  await vi.waitFor(() => expect(field('Color').getAttribute('aria-invalid')).toBe('true'))
  expect(getElement('.field .error').textContent).toContain('Takes a color')
})

test('superusers edit domains and origins', async () => {
  const requests = mockApi({ 'PATCH /api/v1/tenants/acme': tenant, 'GET /api/v1/tenants': { tenants: [tenant] } })
  await open({ tenant })
  expect(field('Domains').value).toBe('acme.example')
  await write('Domains', 'acme.example\n acme.test \n')
  await write('Origins', 'https://*.acme.example')
  send()
  await vi.waitFor(() => expect(sent(requests)).toEqual({ domains: ['acme.example', 'acme.test'], origins: ['https://*.acme.example'] }))
})

test('superusers set the maximum number of job queues', async () => {
  const requests = mockApi({ 'PATCH /api/v1/tenants/acme': tenant, 'GET /api/v1/tenants': { tenants: [tenant] } })
  await open({ tenant })
  await write('Maximum number of job queues', '250')
  send()
  await vi.waitFor(() => expect(sent(requests)).toEqual({ max_job_queues: 250 }))
})

test('an empty list is sent as null', async () => {
  const requests = mockApi({ 'PATCH /api/v1/tenants/acme': tenant, 'GET /api/v1/tenants': { tenants: [tenant] } })
  await open({ tenant })
  await write('Domains', '')
  send()
  await vi.waitFor(() => expect(sent(requests)).toEqual({ domains: null }))
})

test('an empty list stays one', async () => {
  const requests = mockApi({ 'PATCH /api/v1/tenants/acme': tenant, 'GET /api/v1/tenants': { tenants: [tenant] } })
  await open({ tenant: { ...tenant, origins: [] } })
  await write('Name', 'Acme')
  send()
  await vi.waitFor(() => expect(sent(requests)).toEqual({ name: 'Acme' }))
})

test('operators see domains and origins read-only', async () => {
  const requests = mockApi({ 'PATCH /api/v1/tenants/acme': tenant, 'GET /api/v1/tenants': { tenants: [tenant] } })
  await open({ tenant }, 'operator')
  expect(field('Domains').readOnly).toBe(true)
  expect(field('Origins').readOnly).toBe(true)
  expect(field('Maximum number of job queues').readOnly).toBe(true)
  await write('Name', 'Acme')
  send()
  await vi.waitFor(() => expect(sent(requests)).toEqual({ name: 'Acme' }))
})

test('queues outside the lists are named', async () => {
  const errors = [{ code: 'host_outside', field: 'acme-tour.hosts[0]', detail: '"x.example" is outside the tenant\'s domains' }]
  mockApi({ 'PATCH /api/v1/tenants/acme': problemResponse(409, 'queues_outside', { errors }) })
  await open({ tenant })
  await write('Domains', 'acme.test')
  send()
  await vi.waitFor(() => expect(getElement('[role=dialog] [role=alert]').textContent).toContain('Queues of this tenant use'))
  expect(getElement('[role=dialog] [role=alert]').textContent).toContain('acme-tour.hosts[1]')
})
