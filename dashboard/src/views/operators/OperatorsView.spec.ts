import { enableAutoUnmount, flushPromises } from '@vue/test-utils'
import { afterEach, expect, test } from 'vitest'

import { useTenants } from '@/stores/tenants'
import { found, put, signedIn } from '@/testing/mounted'
import { serve } from '@/testing/server'

import OperatorForm from './OperatorForm.vue'
import OperatorsView from './OperatorsView.vue'

enableAutoUnmount(afterEach)

const operator = (name: string, role: string, more: object = {}) => ({ name, role, tenants: role === 'superuser' ? [] : ['acme'], created_at: 1, password_at: 1, ...more })

async function open(operators: object[]): Promise<void> {
  signedIn('superuser', null)
  useTenants().tenants = [{ id: 'acme', name: 'Acme Live' }]
  serve({ 'GET /api/v1/operators': { operators }, 'GET /api/v1/sign-in/ways': { password: true, provider: { name: 'Acme Login', start: '/x' } } })
  put(OperatorsView)
  await flushPromises()
}

test('it shows who may what, how they sign in, and who is the last of their kind', async () => {
  await open([operator('otto', 'superuser'), operator('vera', 'viewer', { password_at: null })])
  const rows = [...document.querySelectorAll('tbody tr')].map((row) => row.textContent)
  expect(rows[0]).toMatch(/otto.*you.*Superuser.*The only one.*All/)
  expect(rows[1]).toMatch(/vera.*Viewer.*Acme Live.*Through the identity provider/)
})

test('where there are two superusers neither is the last', async () => {
  await open([operator('otto', 'superuser'), operator('ada', 'superuser')])
  expect(document.body.textContent).not.toContain('The only one')
})

test('the last superuser stays one', async () => {
  signedIn('superuser', null)
  put(OperatorForm, { open: true, operator: operator('otto', 'superuser'), isLast: true })
  await flushPromises()
  const disabled = [...document.querySelectorAll<HTMLInputElement>('[type=radio]')].filter((it) => it.disabled).map((it) => it.value)
  expect(disabled).toEqual(['viewer', 'operator'])
})

test('without a password they sign in through the provider', async () => {
  signedIn('superuser', null)
  useTenants().tenants = [{ id: 'acme', name: 'Acme Live' }]
  const asked = serve({ 'POST /api/v1/operators': operator('zoe', 'operator') })
  put(OperatorForm, { open: true, provider: 'Acme Login' })
  await flushPromises()
  expect(document.body.textContent).toContain('Left empty, they sign in through Acme Login only.')
  const name = found<HTMLInputElement>('[role=dialog] input[maxlength="63"]')
  name.value = 'zoe'
  name.dispatchEvent(new Event('input'))
  found('[role=dialog] form').dispatchEvent(new Event('submit'))
  await flushPromises()
  expect(asked[0]?.body).toEqual({ name: 'zoe', role: 'operator', tenants: ['acme'], password: null })
})

test('a password is shown once more after the operator was created', async () => {
  signedIn('superuser', null)
  useTenants().tenants = [{ id: 'acme', name: 'Acme Live' }]
  serve({ 'POST /api/v1/operators': operator('zoe', 'operator') })
  put(OperatorForm, { open: true })
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
