import { flushPromises } from '@vue/test-utils'
import { expect, test } from 'vitest'

import { usePrincipalStore } from '@/stores/principal'
import { getElement, mountApp } from '@/testing/mount'
import { problemResponse, mockApi, type ApiRequest } from '@/testing/api'

import SignInView from './SignInView.vue'

const ACCOUNT = { operator: 'otto', role: 'operator', tenants: ['acme'], token: null, ends_at: null, totp: 'on' }

async function open(): Promise<ApiRequest[]> {
  const requests = mockApi({
    'GET /api/v1/sign-in/methods': { password: true, oidc: null },
    'GET /api/v1/sign-in': ACCOUNT,
    'POST /api/v1/sign-in': ({ body }) => {
      const { code } = body as { code?: string }
      if (code === undefined) return problemResponse(401, 'code_required')
      return code === '123456' ? ACCOUNT : problemResponse(401, 'wrong_code')
    },
  })
  mountApp(SignInView)
  await flushPromises()
  return requests
}

async function write(name: string, value: string): Promise<void> {
  const field = getElement<HTMLInputElement>(`input[name=${name}]`)
  field.value = value
  field.dispatchEvent(new Event('input'))
  await flushPromises()
}

async function submit(): Promise<void> {
  getElement('form').dispatchEvent(new Event('submit'))
  await flushPromises()
}

async function password(): Promise<void> {
  await write('name', 'otto')
  await write('password', 'a long password')
  await submit()
}

test('a code is requested after the password', async () => {
  const requests = await open()
  expect(document.querySelector('input[name=code]')).toBeNull()
  await password()
  expect(document.activeElement?.getAttribute('name')).toBe('code')
  expect(document.querySelector('[role=alert]')).toBeNull()
  await write('code', ' 123456 ')
  await submit()
  const sent = requests.filter(({ line }) => line.startsWith('POST')).map(({ body }) => body)
  expect(sent).toEqual([{ name: 'otto', password: 'a long password' }, { name: 'otto', password: 'a long password', code: '123456' }])
  expect(usePrincipalStore().account?.operator).toBe('otto')
})

test('a wrong code can be entered again', async () => {
  await open()
  await password()
  await write('code', '000000')
  await submit()
  expect(getElement('[role=alert]').textContent).toContain('Wrong_code')
  expect(document.querySelector('input[name=code]')).not.toBeNull()
  expect(usePrincipalStore().account).toBeUndefined()
})

test('a name that exceeds the request is too long', async () => {
  await open()
  mockApi({ 'POST /api/v1/sign-in': problemResponse(413, 'too_large', { detail: 'The body exceeds 4096 bytes.' }) })
  await password()
  expect(getElement('[role=alert]').textContent).toBe('The name or the password is too long.')
})

test('back returns to name and password', async () => {
  await open()
  await password()
  getElement('button', 'Back').click()
  await flushPromises()
  expect(document.querySelector('input[name=code]')).toBeNull()
  expect(document.activeElement?.getAttribute('name')).toBe('password')
})
