import { enableAutoUnmount, flushPromises } from '@vue/test-utils'
import { afterEach, expect, test, vi } from 'vitest'

import { useReauthStore } from '@/stores/reauth'
import { useTenantsStore } from '@/stores/tenants'
import { found, mountApp, signInAs } from '@/testing/mount'
import { problemResponse, mockApi } from '@/testing/api'

import OperatorForm from './OperatorForm.vue'
import OperatorsView from './OperatorsView.vue'
import RemoveTotp from './RemoveTotp.vue'

enableAutoUnmount(afterEach)

const operator = (name: string, role: string, more: object = {}) => ({ name, role, tenants: role === 'superuser' ? [] : ['acme'], created_at: 1, password_at: 1, ...more })

async function open(operators: object[]): Promise<void> {
  signInAs('superuser', null)
  useTenantsStore().tenants = [{ id: 'acme', name: 'Acme Live', color: null, logo: null, domains: null, origins: null }]
  mockApi({ 'GET /api/v1/operators': { operators }, 'GET /api/v1/sign-in/methods': { password: true, oidc: { name: 'Acme Login', start: '/x' } } })
  mountApp(OperatorsView)
  await flushPromises()
}

test('it shows who may what, how they sign in, and who is the last of their kind', async () => {
  await open([operator('otto', 'superuser'), operator('vera', 'viewer', { password_at: null })])
  const rows = [...document.querySelectorAll('tbody tr')].map((row) => row.textContent)
  expect(rows[0]).toMatch(/otto.*you.*Superuser.*only one.*All/)
  expect(rows[1]).toMatch(/vera.*Viewer.*Acme Live.*Identity provider/)
})

test('where there are two superusers neither is the last', async () => {
  await open([operator('otto', 'superuser'), operator('ada', 'superuser')])
  expect(document.body.textContent).not.toContain('only one')
})

test('the last superuser stays one', async () => {
  signInAs('superuser', null)
  mountApp(OperatorForm, { open: true, operator: operator('otto', 'superuser'), isLast: true })
  await flushPromises()
  const disabled = [...document.querySelectorAll<HTMLInputElement>('[type=radio]')].filter((it) => it.disabled).map((it) => it.value)
  expect(disabled).toEqual(['viewer', 'operator'])
})

test('without a password they sign in through the provider', async () => {
  signInAs('superuser', null)
  useTenantsStore().tenants = [{ id: 'acme', name: 'Acme Live', color: null, logo: null, domains: null, origins: null }]
  const asked = mockApi({ 'POST /api/v1/operators': operator('zoe', 'operator') })
  mountApp(OperatorForm, { open: true, provider: 'Acme Login' })
  await flushPromises()
  expect(document.body.textContent).toContain('sign-in with Acme Login only')
  const name = found<HTMLInputElement>('[role=dialog] input[maxlength="63"]')
  name.value = 'zoe'
  name.dispatchEvent(new Event('input'))
  found('[role=dialog] form').dispatchEvent(new Event('submit'))
  await flushPromises()
  expect(asked[0]?.body).toEqual({ name: 'zoe', role: 'operator', tenants: ['acme'], password: null })
})

test('a password is shown once more after the operator was created', async () => {
  signInAs('superuser', null)
  useTenantsStore().tenants = [{ id: 'acme', name: 'Acme Live', color: null, logo: null, domains: null, origins: null }]
  mockApi({ 'POST /api/v1/operators': operator('zoe', 'operator') })
  mountApp(OperatorForm, { open: true })
  await flushPromises()
  for (const [selector, value] of [['[role=dialog] input[maxlength="63"]', 'zoe'], ['[role=dialog] input[minlength="12"], [role=dialog] input[autocomplete="new-password"]', 'a long password']] as const) {
    const field = found<HTMLInputElement>(selector)
    field.value = value
    field.dispatchEvent(new Event('input'))
  }
  found('[role=dialog] form').dispatchEvent(new Event('submit'))
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
  signInAs('superuser', null)
  let isProved = false
  const asked = mockApi({ 'DELETE /api/v1/operators/zoe/totp': () => (isProved ? 204 : problemResponse(403, 'password_required')) })
  const saved = vi.fn()
  mountApp(RemoveTotp, { open: true, name: 'zoe', onSaved: saved })
  await flushPromises()
  found('[role=dialog] form').dispatchEvent(new Event('submit'))
  await vi.waitFor(() => expect(useReauthStore().pending).toBeDefined())
  isProved = true
  useReauthStore().pending?.(true)
  await vi.waitFor(() => expect(saved).toHaveBeenCalled())
  expect(asked).toHaveLength(2)
})
