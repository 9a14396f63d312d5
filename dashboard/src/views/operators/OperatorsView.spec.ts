import { flushPromises } from '@vue/test-utils'
import { expect, test, vi } from 'vitest'

import { useConfirmationStore } from '@/stores/confirmation'
import { useReauthStore } from '@/stores/reauth'
import { useTenantsStore } from '@/stores/tenants'
import { getElement, mountApp, signInAs } from '@/testing/mount'
import { problemResponse, mockApi } from '@/testing/api'

import OperatorForm from './OperatorForm.vue'
import OperatorsView from './OperatorsView.vue'

const operator = (name: string, role: string, more: object = {}) => ({ name, role, tenants: role === 'superuser' ? [] : ['acme'], created_at: 1, password_at: 1, ...more })

async function open(operators: object[]): Promise<void> {
  signInAs('superuser', null)
  useTenantsStore().tenants = [{ id: 'acme', name: 'Acme Live', color: null, logo: null, domains: null, origins: null, max_job_queues: null }]
  mockApi({ 'GET /api/v1/operators': { operators }, 'GET /api/v1/sign-in/methods': { password: true, oidc: { name: 'Acme Login', start: '/x' } } })
  mountApp(OperatorsView)
  await flushPromises()
}

test('the list shows roles, sign-in and the last superuser', async () => {
  await open([operator('otto', 'superuser'), operator('vera', 'viewer', { password_at: null })])
  const rows = [...document.querySelectorAll('tbody tr')].map((row) => row.textContent)
  expect(rows[0]).toMatch(/otto.*you.*Superuser.*only one.*All/)
  expect(rows[1]).toMatch(/vera.*Viewer.*Acme Live.*Identity provider/)
})

test('two superusers are not marked as last', async () => {
  await open([operator('otto', 'superuser'), operator('ada', 'superuser')])
  expect(document.body.textContent).not.toContain('only one')
})

test('the last superuser cannot lose the role', async () => {
  signInAs('superuser', null)
  mountApp(OperatorForm, { open: true, operator: operator('otto', 'superuser'), isLast: true })
  await flushPromises()
  const disabled = [...document.querySelectorAll<HTMLInputElement>('[type=radio]')].filter((it) => it.disabled).map((it) => it.value)
  expect(disabled).toEqual(['viewer', 'operator'])
})

test('an operator without a password uses the provider', async () => {
  signInAs('superuser', null)
  useTenantsStore().tenants = [{ id: 'acme', name: 'Acme Live', color: null, logo: null, domains: null, origins: null, max_job_queues: null }]
  const requests = mockApi({ 'POST /api/v1/operators': operator('zoe', 'operator') })
  mountApp(OperatorForm, { open: true, provider: 'Acme Login' })
  await flushPromises()
  expect(document.body.textContent).toContain('sign-in with Acme Login only')
  const name = getElement<HTMLInputElement>('[role=dialog] input[maxlength="63"]')
  name.value = 'zoe'
  name.dispatchEvent(new Event('input'))
  getElement('[role=dialog] form').dispatchEvent(new Event('submit'))
  await flushPromises()
  expect(requests[0]?.body).toEqual({ name: 'zoe', role: 'operator', tenants: ['acme'], password: null })
})

test('a new operator’s password is shown once', async () => {
  signInAs('superuser', null)
  useTenantsStore().tenants = [{ id: 'acme', name: 'Acme Live', color: null, logo: null, domains: null, origins: null, max_job_queues: null }]
  mockApi({ 'POST /api/v1/operators': operator('zoe', 'operator') })
  mountApp(OperatorForm, { open: true })
  await flushPromises()
  for (const [selector, value] of [['[role=dialog] input[maxlength="63"]', 'zoe'], ['[role=dialog] input[minlength="12"], [role=dialog] input[autocomplete="new-password"]', 'a long password']] as const) {
    const field = getElement<HTMLInputElement>(selector)
    field.value = value
    field.dispatchEvent(new Event('input'))
  }
  getElement('[role=dialog] form').dispatchEvent(new Event('submit'))
  await flushPromises()
  expect(document.body.textContent).toContain('Password: a long password')
})

test('the list shows who uses two-factor authentication', async () => {
  await open([operator('otto', 'superuser', { totp_at: 1 }), operator('vera', 'viewer', { totp_at: null })])
  const rows = [...document.querySelectorAll('tbody tr')].map((row) => row.textContent)
  expect(rows[0]).toContain('Two-factor')
  expect(rows[1]).not.toContain('Two-factor')
})

test('removing a second factor asks for the password again', async () => {
  await open([operator('zoe', 'viewer', { totp_at: 1 })])
  let isConfirmed = false
  const requests = mockApi({ 'DELETE /api/v1/operators/zoe/totp': () => (isConfirmed ? 204 : problemResponse(403, 'password_required')) })
  getElement('tbody button').dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }))
  await flushPromises()
  getElement('[role=menuitem]', 'Remove two-factor authentication').click()
  await vi.waitFor(() => expect(useConfirmationStore().pending).toBeDefined())
  useConfirmationStore().pending?.answer(true)
  await vi.waitFor(() => expect(useReauthStore().pending).toBeDefined())
  isConfirmed = true
  useReauthStore().pending?.(true)
  await vi.waitFor(() => expect(requests.filter(({ line }) => line.startsWith('DELETE'))).toHaveLength(2))
})
