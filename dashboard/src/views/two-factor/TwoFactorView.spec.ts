import { flushPromises } from '@vue/test-utils'
import { expect, test, vi } from 'vitest'

import { useReauthStore } from '@/stores/reauth'
import { usePrincipalStore } from '@/stores/principal'
import { getElement, mountApp, signInAs } from '@/testing/mount'
import { problemResponse, mockApi } from '@/testing/api'

import TwoFactorView from './TwoFactorView.vue'

const SETUP = { secret: 'GEZDGNBVGY3TQOJQ', uri: 'otpauth://totp/Vestibule:otto?secret=GEZDGNBVGY3TQOJQ', qr_code: { size: 21, path: 'M0 0h1v1h-1z' } }
const CODES = ['aaaa-bbbb-cccc-dddd', 'eeee-ffff-gggg-hhhh']

async function open(totp: 'off' | 'on' | 'required' | 'unavailable'): Promise<void> {
  signInAs()
  usePrincipalStore().account!.totp = totp
  mountApp(TwoFactorView)
  await flushPromises()
}

async function press(text: string): Promise<void> {
  getElement('button', text).click()
  await flushPromises()
}

async function confirm(code: string, password: string): Promise<void> {
  for (const [name, value] of Object.entries({ code, password })) {
    const field = getElement<HTMLInputElement>(`input[name=${name}]`)
    field.value = value
    field.dispatchEvent(new Event('input'))
  }
  getElement('form').dispatchEvent(new Event('submit'))
  await flushPromises()
}

test('setup shows the secret and verifies the first code', async () => {
  const account = { ...usePrincipalStore().account, operator: 'otto', role: 'operator', tenants: ['acme'], totp: 'on' }
  const requests = mockApi({ 'POST /api/v1/sign-in/totp': SETUP, 'PUT /api/v1/sign-in/totp': { recovery_codes: CODES }, 'GET /api/v1/sign-in': account })
  await open('off')
  await press('Set up two-factor authentication')
  expect(document.body.textContent).toContain('GEZD GNBV GY3T QOJQ')
  expect(getElement<HTMLAnchorElement>('form a').href).toBe(SETUP.uri)
  expect(getElement('svg.qr-code').getAttribute('viewBox')).toBe('-4 -4 29 29')
  await confirm(' 123456 ', 'a long password')
  expect(requests[1]?.body).toEqual({ code: '123456', password: 'a long password' })
  expect(document.body.textContent).toContain(CODES.join('\n'))
  expect(getElement<HTMLAnchorElement>('a[download]').href).toContain(encodeURIComponent(CODES.join('\n')))
  await press('I’ve saved the codes')
  expect(document.body.textContent).not.toContain(CODES[0])
  expect(document.body.textContent).toContain('Two-factor authentication is on.')
})

test('a wrong code is shown at its field', async () => {
  const errors = [{ code: 'not_the_code', field: 'code', detail: 'is not the current code of the authenticator app' }]
  mockApi({ 'POST /api/v1/sign-in/totp': SETUP, 'PUT /api/v1/sign-in/totp': problemResponse(422, 'validation_failed', { errors }) })
  await open('off')
  await press('Set up two-factor authentication')
  await confirm('000000', 'a long password')
  expect(getElement('.field.invalid .error').textContent).toContain('Is not the current code')
  expect(document.querySelector('input[name=code]')).not.toBeNull()
})

test('required setup shows only setup and sign-out', async () => {
  await open('required')
  expect(document.querySelector('main.two-factor-alone')).not.toBeNull()
  expect(document.body.textContent).toContain('is required for your account')
  expect(getElement('button', 'Sign out')).toBeDefined()
})

test('turning it off asks for the password again', async () => {
  let isProved = false
  const requests = mockApi({ 'DELETE /api/v1/sign-in/totp': () => (isProved ? 204 : problemResponse(403, 'password_required')), 'GET /api/v1/sign-in': { operator: 'otto', role: 'operator', tenants: ['acme'], totp: 'off' } })
  await open('on')
  await press('Turn off')
  const proof = useReauthStore()
  await vi.waitFor(() => expect(proof.pending).toBeDefined())
  isProved = true
  proof.pending?.(true)
  await flushPromises()
  expect(requests.map(({ line }) => line)).toEqual(['DELETE /api/v1/sign-in/totp', 'DELETE /api/v1/sign-in/totp', 'GET /api/v1/sign-in'])
  expect(document.body.textContent).toContain('Two-factor authentication is off.')
})

test('without a password there is nothing to set up', async () => {
  await open('unavailable')
  expect(document.body.textContent).toContain('has no password')
  expect(document.querySelector('.two-factor button')).toBeNull()
})
