import { flushPromises, type VueWrapper } from '@vue/test-utils'
import { expect, test } from 'vitest'

import { usePrincipalStore } from '@/stores/principal'
import { mockApi, problemResponse, type ApiRequest } from '@/testing/api'
import { settings, stats } from '@/testing/fixtures'
import { getElement, mountApp, signInAs } from '@/testing/mount'

import { nextMode } from './modes'
import OverlayView from './OverlayView.vue'

const QUEUE = '/api/v1/queues/acme-tour'
let overlay: VueWrapper

async function show(answers: Parameters<typeof mockApi>[0] = {}, now = stats({ waiting: 1200, active: 100 })): Promise<ApiRequest[]> {
  const account = usePrincipalStore().account
  const requests = mockApi({ 'GET /api/v1/sign-in': account ?? problemResponse(401, 'not_signed_in'), [`GET ${QUEUE}`]: settings(), [`GET ${QUEUE}/stats`]: now, ...answers })
  overlay = mountApp(OverlayView, { queue: 'acme-tour' })
  await flushPromises()
  return requests
}

async function press(name: string): Promise<void> {
  getElement<HTMLButtonElement>('button', name).click()
  await flushPromises()
}

/** The submit button of the question, by its form. */
async function confirm(): Promise<void> {
  getElement<HTMLFormElement>('form').requestSubmit()
  await flushPromises()
}

const writes = (requests: ApiRequest[]) => requests.filter(({ line }) => !line.startsWith('GET')).map(({ line, body, headers }) => [line, body, headers.get('x-vestibule-confirm')])

test('the row has the stats, and an operator’s buttons', async () => {
  signInAs()
  await show()
  expect(overlay.find('dl').text()).toBe('Waiting1,200Active100Quota100Rateno limit')
  expect(overlay.findAll('button').map((button) => button.text())).toEqual(['Admit 10 visitors', 'Pause', 'Reset line'])
})

test('a viewer sees the stats only', async () => {
  signInAs('viewer')
  await show()
  expect(overlay.find('dl').text()).toContain('1,200')
  expect(overlay.findAll('button')).toEqual([])
})

test('nobody signs in inside the frame', async () => {
  usePrincipalStore().account = null
  const requests = await show()
  const link = overlay.find('a')
  expect([link.text(), link.attributes('href'), link.attributes('target')]).toEqual(['Sign in', '/queues/acme-tour', '_blank'])
  expect(requests.map(({ line }) => line)).toEqual(['GET /api/v1/sign-in'])
})

test('a press asks with the effects and admits ten visitors', async () => {
  signInAs()
  const requests = await show({ [`POST ${QUEUE}/release`]: { released: 10, complete: true } })
  await press('Admit 10 visitors')
  expect(overlay.find('[role="alert"]').text()).toBe('Admit 10 visitors now? Admits 10 visitors now, 110 active in total. That is 10 over the quota. Admissions resume when enough have left.')
  expect(writes(requests)).toEqual([])
  await press('Cancel')
  await press('Admit 10 visitors')
  await confirm()
  expect(writes(requests)).toEqual([[`POST ${QUEUE}/release`, { count: 10 }, null]])
  expect(overlay.find('[role="status"]').text()).toBe('10 visitors admitted.')
})

test('a retry keeps its idempotency key until outcome_unknown', async () => {
  signInAs()
  let attempts = 0
  const release = () => {
    if (++attempts === 1) throw new TypeError('no response')
    return attempts === 2 ? problemResponse(504, 'outcome_unknown') : { released: 10, complete: true }
  }
  const requests = await show({ [`POST ${QUEUE}/release`]: release })
  for (let i = 0; i < 4; i++) {
    await press('Admit 10 visitors')
    await confirm()
  }
  const [first, second, third, fourth] = requests.filter(({ line }) => line.startsWith('POST')).map(({ headers }) => headers.get('idempotency-key'))
  expect(second).toBe(first)
  expect(new Set([first, third, fourth]).size).toBe(3)
})

test('a queue is paused and resumed', async () => {
  signInAs()
  const requests = await show({ [`PATCH ${QUEUE}/controls`]: settings({ mode: 'paused', revision: 8 }) })
  await press('Pause')
  expect(overlay.find('[role="alert"]').text()).toContain('1,200 visitors wait and keep their position until you reopen.')
  await confirm()
  expect(writes(requests)).toEqual([[`PATCH ${QUEUE}/controls`, { mode: 'paused' }, null]])
})

test('a reset needs the ID typed in and the server’s token', async () => {
  signInAs()
  const confirmation = { token: 'once', expires_in: 120, consequence: '1,200 waiting visitors lose their position' }
  const requests = await show({
    [`POST ${QUEUE}/reset`]: ({ headers }) => (headers.has('x-vestibule-confirm') ? settings({ epoch: 2 }) : problemResponse(428, 'confirmation_required', { confirmation })),
  })
  await press('Reset line')
  expect(overlay.find('[role="alert"]').text()).toContain('1,200 waiting visitors lose their position')
  await confirm()
  await overlay.find('input').setValue('acme-tour')
  await confirm()
  expect(writes(requests).map(([, , token]) => token)).toEqual([null, 'once'])
})

test('a queue with an event that is not over resumes its schedule', () => {
  const event = { id: 'sale', starts_at: '2027-03-04T10:00:00Z', ends_at: '2027-03-04T14:00:00Z', order: 'arrival' as const, suspended: false }
  const end = Date.parse(event.ends_at) / 1000
  const next = (mode: string, now: number, changes = {}, waiting = 0) => nextMode(settings({ mode, events: [{ ...event, ...changes }] } as never), now, waiting)
  expect([next('scheduled', 0), next('open', 0)]).toEqual(['paused', 'paused'])
  expect([next('paused', 0), next('paused', end - 1)], 'before and during the event').toEqual(['scheduled', 'scheduled'])
  expect([next('paused', end + 599), next('paused', end + 3600, {}, 1)], 'its line is still admitted').toEqual(['scheduled', 'scheduled'])
  expect([next('paused', end + 600), next('paused', end - 1, { suspended: true })]).toEqual(['open', 'open'])
  expect(nextMode(settings({ mode: 'paused' }), 0, 1)).toBe('open')
})

test('resuming a schedule before a sale warns of the bypass', async () => {
  signInAs()
  const event = { id: 'sale', starts_at: '2027-03-04T10:00:00Z', ends_at: '2027-03-04T14:00:00Z', order: 'arrival' as const, suspended: false }
  const now = Date.parse('2027-03-04T08:00:00Z') / 1000
  const requests = await show({ [`GET ${QUEUE}`]: settings({ mode: 'paused', events: [event] }), [`PATCH ${QUEUE}/controls`]: settings({ mode: 'scheduled', events: [event] }) }, stats({ mode: 'paused', waiting: 12, at: now }))
  await press('Resume')
  expect(overlay.find('[role="alert"]').text()).toContain('All visitors go straight to the site, including the 12 waiting. No limit applies.')
  expect(overlay.find('button[type="submit"]').classes()).toContain('danger')
  await confirm()
  expect(writes(requests)).toEqual([[`PATCH ${QUEUE}/controls`, { mode: 'scheduled' }, null]])
})

test.each(['closed', 'draining', 'bypass'] as const)('a queue in the mode %s is neither paused nor resumed', async (mode) => {
  signInAs()
  await show({ [`GET ${QUEUE}`]: settings({ mode }) }, stats({ mode }))
  expect(overlay.findAll('button').map((button) => button.text())).toEqual(['Admit 10 visitors', 'Reset line'])
})
