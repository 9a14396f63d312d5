import { flushPromises, type VueWrapper } from '@vue/test-utils'
import { expect, test } from 'vitest'

import { useTenantsStore } from '@/stores/tenants'
import { mountApp, signInAs } from '@/testing/mount'
import { problemResponse, mockApi, type ApiRequest } from '@/testing/api'

import NewQueueView from './NewQueueView.vue'

let view: VueWrapper

async function open(answers: Parameters<typeof mockApi>[0]): Promise<ApiRequest[]> {
  const requests = mockApi({ 'GET /api/v1/themes': { themes: [] }, 'GET /api/v1/tenants': { tenants: [{ id: 'acme', name: 'Acme' }] }, ...answers })
  signInAs('superuser', null)
  await useTenantsStore().load()
  view = mountApp(NewQueueView)
  await flushPromises()
  return requests
}

const control = (label: string) => view.findAll('.field').find((it) => it.find('label').text() === label)!.find<HTMLInputElement>('input, textarea')
const refusalOf = (status: number, errors: object[]) => () => problemResponse(status, 'validation_failed', { errors })
const send = async () => {
  await view.find('form').trigger('submit')
  await flushPromises()
}

test('pasted URLs become hosts and origins on blur', async () => {
  await open({})
  await control('Hosts').setValue('https://Tickets.example.com/shop\nwww.example.com')
  await control('Hosts').trigger('blur')
  expect(control('Hosts').element.value).toBe('tickets.example.com\nwww.example.com')
  await control('Origin').setValue('https://www.example.com/shop?a=1')
  await control('Origin').trigger('blur')
  expect(control('Origin').element.value).toBe('https://www.example.com')
})

test('the id follows the name until it is edited', async () => {
  const requests = await open({ 'POST /api/v1/queues': problemResponse(409, 'already_exists') })
  await control('Name').setValue('World Tour 2027')
  expect(control('ID').element.value).toBe('world-tour-2027')
  await control('ID').setValue('tour')
  await control('Name').setValue('Another name')
  expect(control('ID').element.value).toBe('tour')
  await send()
  expect(requests.at(-1)?.body).toMatchObject({ id: 'tour', name: 'Another name' })
})

test('the first invalid field gets the focus', async () => {
  const errors = ['hosts', 'quota'].map((field) => ({ code: 'takes', field, detail: 'is wrong' }))
  await open({ 'POST /api/v1/queues': problemResponse(422, 'validation_failed', { errors }) })
  await send()
  expect(document.activeElement).toBe(control('Hosts').element)
})

const TENANTS = 'GET /api/v1/tenants'

test('one form creates the first tenant and its queue', async () => {
  const tenants: object[] = []
  const requests = await open({
    [TENANTS]: () => ({ tenants }),
    'POST /api/v1/tenants': ({ body }) => (tenants.push(body as object), body as object),
    'POST /api/v1/queues': ({ body }) => body as object,
  })
  expect(view.find('form').exists()).toBe(true)
  await control('Tenant name').setValue('Große Bühne')
  expect(control('Tenant ID').element.value).toBe('grosse-buehne')
  await control('Tenant ID').setValue('buehne')
  await control('Name').setValue('World Tour')
  await control('Hosts').setValue('tickets.example.com')
  await control('Origin').setValue('https://www.example.com')
  await send()
  const posts = requests.filter(({ line }) => line.startsWith('POST'))
  expect(posts.map(({ line }) => line)).toEqual(['POST /api/v1/tenants', 'POST /api/v1/queues'])
  expect(posts[0]?.body).toEqual({ id: 'buehne', name: 'Große Bühne' })
  expect(posts[1]?.body).toMatchObject({ id: 'world-tour', tenant: 'buehne', hosts: ['tickets.example.com'], mode: 'paused', quota: 100 })
  expect(view.vm.$router.currentRoute.value).toMatchObject({ name: 'queue-setup', params: { queue: 'world-tour' } })
})

test('a created tenant is not created again after an error', async () => {
  const tenants: object[] = []
  const errors = [{ code: 'takes', field: 'name', detail: 'is wrong' }]
  const requests = await open({
    [TENANTS]: () => ({ tenants }),
    'POST /api/v1/tenants': ({ body }) => (tenants.push(body as object), body as object),
    'POST /api/v1/queues': refusalOf(422, errors),
  })
  await control('Tenant name').setValue('Acme')
  await send()
  // The error is about the queue's name.
  expect(control('Name').attributes('aria-invalid')).toBe('true')
  expect(view.find('form select').element).toHaveProperty('value', 'acme')
  await send()
  expect(requests.filter(({ line }) => line === 'POST /api/v1/tenants')).toHaveLength(1)
})

test('a taken tenant id is shown at its field', async () => {
  await open({ [TENANTS]: { tenants: [] }, 'POST /api/v1/tenants': problemResponse(409, 'already_exists') })
  await control('Tenant name').setValue('Acme')
  await send()
  expect(control('Tenant ID').attributes('aria-invalid')).toBe('true')
})

test('a taken queue id is shown at its field', async () => {
  await open({ 'POST /api/v1/queues': problemResponse(409, 'already_exists', { detail: 'This ID is already used.' }) })
  await send()
  expect(control('ID').attributes('aria-invalid')).toBe('true')
  expect(view!.get('.field.invalid .error').text()).toBe('This ID is already used.')
})

test('an invalid collapsed setting is expanded', async () => {
  await open({ 'POST /api/v1/queues': refusalOf(422, [{ code: 'takes', field: 'cookie_domain', detail: 'is wrong' }]) })
  expect(view.find('details').element.open).toBe(false)
  await send()
  expect(view.find('details').element.open).toBe(true)
})
