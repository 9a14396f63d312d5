import { flushPromises, mount } from '@vue/test-utils'
import { expect, test } from 'vitest'

import { useNotificationStore } from '@/stores/notifications'
import { getElement, signInAs } from '@/testing/mount'
import { settings } from '@/testing/fixtures'
import { problemResponse, mockApi, type ApiRequest } from '@/testing/api'

import ThemeUsageDialog from './ThemeUsageDialog.vue'

const LIST = 'GET /api/v1/queues'
const LOG = 'GET /api/v1/audit'
const empty = { events: [], next: null }
const boxes = () => [...document.querySelectorAll<HTMLInputElement>('[role=dialog] [type=checkbox]')]
const sentRequests = () => document.querySelector('[role=dialog]') !== null

async function activate(answers: Parameters<typeof mockApi>[0]): Promise<ApiRequest[]> {
  const requests = mockApi({ [LOG]: empty, ...answers })
  signInAs('operator', ['acme'])
  const page = mount(ThemeUsageDialog, { props: { theme: 'acme', tenant: 'acme' }, attachTo: document.body })
  await (page.vm as unknown as { ask(): Promise<void> }).ask()
  await flushPromises()
  return requests
}

async function save(): Promise<void> {
  getElement('[role=dialog] .button.primary').click()
  await flushPromises()
}

test('it stays closed if the theme is used or no queue exists', async () => {
  await activate({ [LIST]: { queues: [settings({ theme: 'acme' }), settings({ id: 'other' })] } })
  expect(sentRequests()).toBe(false)
  await activate({ [LIST]: { queues: [], next: null } })
  expect(sentRequests()).toBe(false)
})

test('queues are listed and saved with their revisions', async () => {
  const requests = await activate({
    [LIST]: { queues: [settings({ id: 'one', name: 'One', revision: 3 }), settings({ id: 'two', name: 'Two', theme: 'acme-old' })] },
    'PATCH /api/v1/queues/one': settings({ theme: 'acme' }),
  })
  expect(boxes().map((box) => [box.checked, box.closest('label')?.textContent?.trim()])).toEqual([[false, 'Onebuilt-in page'], [false, 'Twoacme-old']])
  boxes()[0]?.click()
  await flushPromises()
  await save()
  expect(requests[0]?.line).toContain('tenant=acme')
  const patch = requests.find(({ line }) => line.startsWith('PATCH'))
  expect([patch?.body, patch?.headers.get('if-match')]).toEqual([{ theme: 'acme' }, '"3"'])
  expect(sentRequests()).toBe(false)
  expect(useNotificationStore().notifications.map(({ text }) => text)).toEqual(['1 queue uses acme.'])
})

test('queues that had the theme before are selected', async () => {
  const change = { id: '1-0', action: 'queue.update', queue: 'two', changes: [{ field: 'theme', from: 'acme', to: null }] }
  await activate({ [LIST]: { queues: [settings({ id: 'one' }), settings({ id: 'two' })] }, [LOG]: { events: [change], next: null } })
  expect(boxes().map(({ checked }) => checked)).toEqual([false, true])
})

test('failed queues are shown with their current values', async () => {
  let revision = 7
  await activate({
    [LIST]: () => ({ queues: ['one', 'two'].map((id) => settings({ id, name: id, revision, theme: revision > 7 ? 'acme-new' : null })) }),
    'PATCH /api/v1/queues/one': () => {
      revision = 8
      return problemResponse(409, 'revision_conflict')
    },
    'PATCH /api/v1/queues/two': problemResponse(503, 'outcome_unknown'),
  })
  for (const box of boxes()) {
    box.click()
    await flushPromises()
  }
  await save()
  const received = getElement('[role=dialog] [role=alert]').textContent
  expect(received).toContain('one: Changed by someone else.')
  expect(received).toContain('two: The store did not respond. The change may or may not have been applied.')
  expect(boxes()[0]?.closest('label')?.textContent).toContain('acme-new')
  expect(boxes().every(({ checked }) => checked)).toBe(true)
})
