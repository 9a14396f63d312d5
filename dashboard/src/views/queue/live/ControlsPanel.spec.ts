import { flushPromises, type VueWrapper } from '@vue/test-utils'
import { expect, test } from 'vitest'

import { useStatsStore } from '@/stores/stats'
import { getElement, mountApp, signInAs } from '@/testing/mount'
import { settings, stats } from '@/testing/fixtures'
import { problemResponse, mockApi, type ApiRequest } from '@/testing/api'

import { provideQueue } from '../useQueue'
import ControlsPanel from './ControlsPanel.vue'

let panel: VueWrapper

/** Mounts the controls of a queue with 1,200 waiting visitors. */
async function controls(answers: Parameters<typeof mockApi>[0], changes: Parameters<typeof settings>[0] = {}): Promise<ApiRequest[]> {
  const now = stats({ waiting: 1200, active: 100 })
  const requests = mockApi({ 'GET /api/v1/queues/acme-tour': settings(changes), 'GET /api/v1/queues/acme-tour/stats': now, ...answers })
  signInAs()
  useStatsStore().setQueue(now)
  panel = mountApp(ControlsPanel, { settings: settings(changes), stats: now }, () => provideQueue(() => 'acme-tour'))
  await flushPromises()
  return requests
}

async function type(label: string, value: string): Promise<void> {
  const field = panel.findAll('.control').find((control) => control.find('label').text().startsWith(label))!
  await field.find('input').setValue(value)
  await field.trigger('submit')
  await flushPromises()
}

const changes = (requests: ApiRequest[]) => requests.filter(({ line }) => !line.startsWith('GET')).map(({ line, body, headers }) => [line, body, headers.get('x-vestibule-confirm')])

test('a dialog shows the effects before a change', async () => {
  const requests = await controls({ 'PATCH /api/v1/queues/acme-tour/controls': settings({ quota: 150, revision: 8 }) })
  await type('Quota', '150')
  expect(getElement('[role="dialog"]').textContent).toContain('Admits 50 visitors now, 150 active in total.')
  expect(changes(requests)).toEqual([])
  getElement<HTMLButtonElement>('[role="dialog"] button', 'Set quota to 150').closest('form')!.requestSubmit()
  await flushPromises()
  expect(changes(requests)).toEqual([['PATCH /api/v1/queues/acme-tour/controls', { quota: 150 }, null]])
  expect(document.querySelector('[role="dialog"]')).toBeNull()
})

test('invalid numbers are rejected without a dialog', async () => {
  const requests = await controls({})
  for (const wrong of ['-1', '1.5', 'many', '10000001', '']) {
    await type('Quota', wrong)
    expect(panel.find('.error').text()).toBe('Enter a whole number from 0 to 10,000,000.')
  }
  await type('Rate', '0')
  expect(panel.find('.error').text()).toBe('Enter a whole number from 1 to 6,000,000, or leave the field empty.')
  await type('Admit visitors', 'all')
  expect(panel.find('.error').text()).toBe('Enter a whole number from 1 to 100,000.')
  expect(changes(requests)).toEqual([])
  expect(document.querySelector('[role="dialog"]')).toBeNull()
})

test('removing the rate removes its steps', async () => {
  const requests = await controls({ 'PATCH /api/v1/queues/acme-tour/controls': settings({ revision: 8 }) }, { admissions_per_minute: 300, admissions_every: 15 })
  expect(panel.text()).toContain('Now: 300, every 15 s')
  await type('Rate', '')
  getElement<HTMLButtonElement>('[role="dialog"] button', 'Remove limit').closest('form')!.requestSubmit()
  await flushPromises()
  expect(changes(requests)).toEqual([['PATCH /api/v1/queues/acme-tour/controls', { admissions_per_minute: null, admissions_every: null }, null]])
})

test('a large release is confirmed with the server’s token', async () => {
  const confirmation = { token: 'once', expires_in: 120, consequence: '200 visitors will be admitted now' }
  const requests = await controls({
    'POST /api/v1/queues/acme-tour/release': ({ headers }) =>
      headers.has('x-vestibule-confirm') ? { released: 200, complete: true } : problemResponse(428, 'confirmation_required', { confirmation }),
  })
  await type('Admit visitors', '200')
  const submit = async () => {
    getElement<HTMLButtonElement>('[role="dialog"] button', 'Admit 200 visitors').closest('form')!.requestSubmit()
    await flushPromises()
  }
  await submit()
  expect(getElement('[role="dialog"]').textContent).toContain('200 visitors will be admitted now.')
  await submit()
  const line = 'POST /api/v1/queues/acme-tour/release'
  expect(changes(requests)).toEqual([[line, { count: 200 }, null], [line, { count: 200 }, 'once']])
  expect(document.querySelector('[role="dialog"]')).toBeNull()
})

async function pause(): Promise<void> {
  await panel.find('.mode:nth-child(2)').trigger('click')
  await flushPromises()
  getElement<HTMLButtonElement>('[role="dialog"] button', 'Change to “Paused”').closest('form')!.requestSubmit()
  await flushPromises()
}

test('an unknown outcome rereads values before a retry', async () => {
  let reads = 0
  const read = () => (++reads === 2 ? problemResponse(503, 'store_unavailable') : settings())
  await controls({
    'GET /api/v1/queues/acme-tour': read,
    'PATCH /api/v1/queues/acme-tour/controls': problemResponse(504, 'outcome_unknown'),
  })
  await pause()
  const dialog = () => getElement('[role="dialog"]').textContent
  expect(getElement('[role="dialog"] [role="alert"]').textContent).toContain('may or may not have been applied')
  expect(document.querySelector('[role="dialog"] button[type="submit"]')).toBeNull()
  getElement<HTMLButtonElement>('[role="dialog"] button', 'Read current values').click()
  await flushPromises()
  expect(dialog()).toContain('100 active, 1,200 waiting')
  expect(document.querySelector('[role="dialog"] button[type="submit"]')).not.toBeNull()
})

test('a retried release keeps its key until outcome_unknown', async () => {
  let attempts = 0
  const release = () => {
    if (++attempts === 1) throw new TypeError('no response')
    return problemResponse(504, 'outcome_unknown')
  }
  const requests = await controls({ 'POST /api/v1/queues/acme-tour/release': release })
  await type('Admit visitors', '5')
  for (let i = 0; i < 3; i++) {
    getElement<HTMLButtonElement>('[role="dialog"] button', 'Admit 5 visitors').closest('form')!.requestSubmit()
    await flushPromises()
  }
  const keys = requests.filter(({ line }) => line.startsWith('POST')).map(({ headers }) => headers.get('idempotency-key'))
  expect(keys).toHaveLength(3)
  expect(keys[0]).toMatch(/^[0-9a-f]{32}$/)
  expect(keys[1]).toBe(keys[0])
  expect(keys[2]).not.toBe(keys[0])
})

test('the current mode opens no dialog', async () => {
  await controls({})
  await panel.find('.mode[aria-pressed="true"]').trigger('click')
  expect(document.querySelector('[role="dialog"]')).toBeNull()
})

test('closed and bypass are set apart from the other modes', async () => {
  await controls({})
  expect(panel.findAll('.mode.drastic').map((mode) => mode.text())).toEqual(['Closed', 'Bypass'])
})

test('a message is previewed in the dashboard language', async () => {
  await controls({ 'GET /api/v1/themes/summer/preview': {} }, { theme: 'summer' })
  await panel.find('textarea').setValue('Sold out.')
  await panel.find('form.message').trigger('submit')
  await flushPromises()
  expect(document.querySelector('[role="dialog"] iframe')).toBeNull()
  const details = getElement<HTMLDetailsElement>('[role="dialog"] details')
  details.open = true
  details.dispatchEvent(new Event('toggle'))
  await flushPromises()
  const shown = new URL(getElement<HTMLIFrameElement>('[role="dialog"] iframe').src, location.href)
  expect([shown.pathname, Object.fromEntries(shown.searchParams)]).toEqual(['/api/v1/themes/summer/preview', { state: 'waiting', message: 'Sold out.', queue: 'acme-tour', language: 'en' }])
})

test('a preview that fails says why', async () => {
  await controls({ 'GET /api/v1/themes/default/preview': problemResponse(404, 'not_found', { detail: 'No theme with this ID.' }) })
  await panel.find('textarea').setValue('Sold out.')
  await panel.find('form.message').trigger('submit')
  await flushPromises()
  const details = getElement<HTMLDetailsElement>('[role="dialog"] details')
  details.open = true
  details.dispatchEvent(new Event('toggle'))
  await flushPromises()
  expect(document.querySelector('[role="dialog"] iframe')).toBeNull()
  expect(getElement('[role="dialog"] details [role="alert"]').textContent).toContain('No theme with this ID.')
})
