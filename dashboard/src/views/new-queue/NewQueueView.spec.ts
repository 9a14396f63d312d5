import { flushPromises, type VueWrapper } from '@vue/test-utils'
import { afterEach, expect, test } from 'vitest'

import { useTenants } from '@/stores/tenants'
import { put, signedIn } from '@/testing/mounted'
import { refusal, serve, type Asked } from '@/testing/server'

import NewQueueView from './NewQueueView.vue'

let view: VueWrapper | undefined
afterEach(() => view?.unmount())

async function open(answers: Parameters<typeof serve>[0]): Promise<Asked[]> {
  const asked = serve({ 'GET /api/v1/themes': { themes: [] }, 'GET /api/v1/tenants': { tenants: [{ id: 'acme', name: 'Acme' }] }, ...answers })
  signedIn('superuser', null)
  await useTenants().load()
  view = put(NewQueueView)
  await flushPromises()
  return asked
}

const control = (label: string) => view!.findAll('.field').find((it) => it.find('label').text() === label)!.find<HTMLInputElement>('input, textarea')
const send = async () => {
  await view!.find('form').trigger('submit')
  await flushPromises()
}

test('pasted addresses become hosts and origins when the field is left', async () => {
  await open({})
  await control('Hosts').setValue('https://Tickets.example.com/shop\nwww.example.com')
  await control('Hosts').trigger('blur')
  expect(control('Hosts').element.value).toBe('tickets.example.com\nwww.example.com')
  await control('Address of the site').setValue('https://www.example.com/shop?a=1')
  await control('Address of the site').trigger('blur')
  expect(control('Address of the site').element.value).toBe('https://www.example.com')
})

test('the id follows the name until it is typed', async () => {
  const asked = await open({ 'POST /api/v1/queues': refusal(409, 'taken') })
  await control('Name').setValue('World Tour 2027')
  expect(control('Id').element.value).toBe('world-tour-2027')
  await control('Id').setValue('tour')
  await control('Name').setValue('Another name')
  expect(control('Id').element.value).toBe('tour')
  await send()
  expect(asked.at(-1)?.body).toMatchObject({ id: 'tour', name: 'Another name' })
})

test('the first wrong field gets the focus', async () => {
  const errors = ['hosts', 'quota'].map((field) => ({ code: 'takes', field, message: 'is wrong' }))
  await open({ 'POST /api/v1/queues': refusal(422, 'wrong_fields', { errors }) })
  await send()
  expect(document.activeElement).toBe(control('Hosts').element)
})
