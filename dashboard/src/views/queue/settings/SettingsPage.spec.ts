import { flushPromises, type VueWrapper } from '@vue/test-utils'
import { defineComponent, h } from 'vue'
import { expect, test } from 'vitest'

import { getElement, mountApp, signInAs } from '@/testing/mount'
import { settings } from '@/testing/fixtures'
import { problemResponse, mockApi, type ApiRequest } from '@/testing/api'

import { provideQueue } from '../useQueue'
import SettingsPage from './SettingsPage.vue'

const QUEUE = '/api/v1/queues/acme-tour'
let form: VueWrapper

async function open(answers: Parameters<typeof mockApi>[0], role: 'operator' | 'viewer' = 'operator'): Promise<ApiRequest[]> {
  const requests = mockApi({ [`GET ${QUEUE}`]: settings(), [`GET ${QUEUE}/stats`]: {}, 'GET /api/v1/themes': { themes: [] }, ...answers })
  signInAs(role)
  const page = defineComponent({
    setup() {
      const { settings } = provideQueue(() => 'acme-tour')
      return () => settings.value && h(SettingsPage)
    },
  })
  form = mountApp(page)
  await flushPromises()
  return requests
}

const field = (label: string) => form.findAll('.field').find((it) => it.find('label').text() === label)!
const writes = (requests: ApiRequest[]) => requests.filter(({ line }) => line.startsWith('PATCH'))
const review = async () => {
  await form.find('form').trigger('submit')
  await flushPromises()
}
const press = async (text: string) => {
  getElement('[role="dialog"] button', text).click()
  await flushPromises()
}

test('a maximum queue length is saved', async () => {
  const requests = await open({
    [`PATCH ${QUEUE}?validate=true`]: { settings: settings(), changes: [{ field: 'max_waiting', from: null, to: 5000 }] },
    [`PATCH ${QUEUE}`]: settings({ max_waiting: 5000, revision: 8 }),
  })
  await field('Maximum queue length').find('input').setValue('5000')
  await review()
  await press('Save')
  expect(writes(requests).at(-1)).toMatchObject({ body: { max_waiting: 5000 } })
})

test('pre-tickets are switched off by an empty percentage', async () => {
  const requests = await open({
    [`PATCH ${QUEUE}?validate=true`]: { settings: settings(), changes: [{ field: 'protection', from: null, to: {} }] },
    [`PATCH ${QUEUE}`]: settings({ revision: 8 }),
  })
  const from = field('Pre-ticket required from').find('input')
  expect(from.element.value).toBe('50')
  await from.setValue('')
  await review()
  await press('Save')
  expect(writes(requests).at(-1)).toMatchObject({ body: { protection: { pre_ticket_from: 'none', pre_ticket_max_age: 30 } } })
})

test('removed networks are null in the patch', async () => {
  const protection = { networks: { '203.0.113.0/24': 'blocked', '198.51.100.0/24': 'blocked' }, lists: { shared: ['carriers'] } } as const
  const base = settings({ protection: { networks: protection.networks, lists: { shared: ['carriers'] } } })
  const requests = await open({ [`GET ${QUEUE}`]: base, [`PATCH ${QUEUE}?validate=true`]: { settings: base, changes: [] } })
  await field('Blocked networks').find('textarea').setValue('198.51.100.0/24')
  await field('Lists of shared networks').find('textarea').setValue('')
  await field('Limit per address').find('input').setValue('')
  await review()
  const networks = { '203.0.113.0/24': null, '198.51.100.0/24': 'blocked' }
  expect(writes(requests).at(-1)).toMatchObject({ body: { protection: { networks, lists: { shared: [] }, per_address: 'none' } } })
})

test('accounts are set up and removed', async () => {
  const requests = await open({ [`PATCH ${QUEUE}?validate=true`]: { settings: settings(), changes: [] } })
  await field('Accounts').find('select').setValue('jwt')
  await field('Issuer').find('input').setValue('https://www.example.com')
  await field('Audiences').find('textarea').setValue('tour')
  await field('Keys').find('textarea').setValue('{ "keys": [] }')
  await field('Keys').find('textarea').trigger('change')
  await field('Account required').find('select').setValue('yes')
  await field('Sign-in page').find('input').setValue('https://www.example.com/sign-in?return={return}')
  await review()
  expect(writes(requests).at(-1)).toMatchObject({
    body: {
      protection: {
        identity: {
          kind: 'jwt', issuer: 'https://www.example.com', audience: ['tour'], from: [], keys: { keys: [] }, required: true,
          sign_in: 'https://www.example.com/sign-in?return={return}',
        },
      },
    },
  })
})

test('removed accounts are null in the patch', async () => {
  const identity = { issuer: 'https://www.example.com', audience: ['tour'], jwks: 'https://www.example.com/keys', key_id: 'k1' }
  const base = settings({ protection: { identity } })
  const requests = await open({ [`GET ${QUEUE}`]: base, [`PATCH ${QUEUE}?validate=true`]: { settings: base, changes: [] } })
  await field('Ticket key of sessions').find('input').setValue('')
  await review()
  expect(writes(requests).at(-1)).toMatchObject({ body: { protection: { identity: { ...identity, key_id: null } } } })
  await field('Accounts').find('select').setValue('none')
  await review()
  expect(writes(requests).at(-1)).toMatchObject({ body: { protection: { identity: null } } })
})

test('changes are reviewed and saved with the loaded revision', async () => {
  const requests = await open({
    [`PATCH ${QUEUE}?validate=true`]: { settings: settings(), changes: [{ field: 'name', from: 'World tour', to: 'Grand tour' }] },
    [`PATCH ${QUEUE}`]: settings({ name: 'Grand tour', revision: 8 }),
  })
  expect(form.text()).not.toContain('not saved')
  await field('Name').find('input').setValue('Grand tour')
  await review()
  expect(getElement('[role="dialog"] tr', 'Name').textContent).toContain('World tourGrand tour')
  await press('Save')
  expect(writes(requests).map(({ line, body, headers }) => [line, body, headers.get('if-match')])).toEqual([
    [`PATCH ${QUEUE}?validate=true`, { name: 'Grand tour' }, '"7"'],
    [`PATCH ${QUEUE}`, { name: 'Grand tour' }, '"7"'],
  ])
  expect(form.text()).not.toContain('not saved')
})

test('server errors are shown at their fields', async () => {
  const errors = [{ code: 'takes', field: 'waiting_ttl', detail: 'takes 3 to 3600' }, { code: 'takes', field: 'epoch', detail: 'is odd' }]
  await open({ [`PATCH ${QUEUE}?validate=true`]: problemResponse(422, 'validation_failed', { errors }) })
  await field('Waiting timeout').find('input').setValue('1')
  await review()
  expect(field('Waiting timeout').find('.error').text()).toBe('Takes 3 to 3600.')
  // Errors of fields that are not in the form are listed.
  expect(form.find('[role="alert"]').text()).toMatch(/Epoch:\s*is odd/)
})

test('conflicts keep the current values unless overridden', async () => {
  const theirs = settings({ name: 'Farewell tour', claim_ttl: 45, revision: 8 })
  const conflict = { revision: 8, current: theirs }
  let revision = 7
  const requests = await open({
    [`GET ${QUEUE}`]: () => (revision === 7 ? settings() : theirs),
    [`PATCH ${QUEUE}?validate=true`]: ({ headers }) => {
      if (headers.get('if-match') === '"8"') return { settings: theirs, changes: [{ field: 'max_session', from: null, to: 3600 }] }
      revision = 8
      return problemResponse(412, 'revision_conflict', { conflict })
    },
  })
  await field('Name').find('input').setValue('Grand tour')
  await field('Maximum session length').find('input').setValue('3600')
  await review()
  const go = getElement<HTMLButtonElement>('[role="dialog"] button', 'Continue')
  expect(go.disabled).toBe(true)
  expect(getElement('[role="dialog"]').textContent).toContain('World tour')
  getElement('[role="dialog"] label', 'Current value').click()
  await flushPromises()
  await press('Continue')
  expect(writes(requests).at(-1)).toMatchObject({ body: { max_session: 3600 } })
  expect(field('Name').find('input').element.value).toBe('Farewell tour')
  expect(getElement('[role="dialog"] tr', 'Maximum session length').textContent).toContain('3600')
})

test('viewers see disabled fields', async () => {
  await open({}, 'viewer')
  expect(form.find('fieldset').attributes('disabled')).toBeDefined()
})

test('themes of other tenants are not offered', async () => {
  const themes = ['acme', 'coral', null].map((tenant) => ({ id: tenant ?? 'default', tenant, live: true, queues: [] }))
  await open({ 'GET /api/v1/themes': { themes } })
  const options = field('Theme').findAll('option').map((option) => option.text())
  expect(options.slice(1)).toEqual(['acme', 'default'])
})
