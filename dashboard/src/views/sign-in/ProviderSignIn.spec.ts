import { flushPromises, mount } from '@vue/test-utils'
import { expect, test, vi } from 'vitest'
import { createMemoryHistory, createRouter } from 'vue-router'

import * as account from '@/api/account'
import type { SignInMethods } from '@/api/types'

import ProviderSignIn from './ProviderSignIn.vue'

async function shown(ways: SignInMethods, query = ''): Promise<ReturnType<typeof mount>> {
  vi.spyOn(account, 'listSignInMethods').mockResolvedValue(ways)
  const router = createRouter({ history: createMemoryHistory(), routes: [{ path: '/sign-in', component: ProviderSignIn }] })
  await router.push(`/sign-in${query}`)
  const wrapper = mount(ProviderSignIn, { global: { plugins: [router] } })
  await flushPromises()
  return wrapper
}

test('a provider has a sign-in link', async () => {
  const page = await shown({ password: true, oidc: { name: 'Acme', start: '/api/v1/sign-in/oidc' } })
  expect(page.get('a').text()).toBe('Sign in with Acme')
  expect(page.get('a').attributes('href')).toBe('/api/v1/sign-in/oidc')
})

test('nothing is shown without a provider', async () => {
  expect((await shown({ password: true, oidc: null })).find('section').exists()).toBe(false)
})

test('a failed provider sign-in shows the reason', async () => {
  const page = await shown({ password: true, oidc: null }, '?problem=unknown_operator')
  expect(page.get('[role=alert]').text()).toContain('no operator account')
  expect((await shown({ password: true, oidc: null }, '?problem=x')).get('[role=alert]').text()).toContain('Sign-in failed')
})
