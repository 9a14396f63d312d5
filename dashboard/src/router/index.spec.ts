import { expect, test } from 'vitest'

import { back, router } from '.'
import { usePrincipalStore } from '@/stores/principal'
import { problemResponse, mockApi } from '@/testing/api'

const account = (role: string) => ({ operator: 'otto', role, tenants: role === 'superuser' ? null : ['acme'] })

test('sign-in redirects back to the requested page', async () => {
  mockApi({ 'GET /api/v1/sign-in': problemResponse(401, 'not_signed_in') })
  await router.push('/queues/acme-tour/settings?x=1')
  expect(router.currentRoute.value).toMatchObject({ name: 'sign-in', query: { next: '/queues/acme-tour/settings?x=1' } })
  expect(back(router.currentRoute.value)).toBe('/queues/acme-tour/settings?x=1')
})

test('redirects to other sites are rejected', () => {
  const next = (next: string) => back({ query: { next } })
  expect(['https://evil.example', '//evil.example', '/\\evil.example', 'queues', ''].map(next)).toEqual(['/', '/', '/', '/', '/'])
})

test('pages that need a role are not found without it', async () => {
  const principal = usePrincipalStore()
  principal.account = account('viewer') as never
  await router.push('/queues/new')
  expect(router.currentRoute.value.name).toBe('not-found')
  principal.account = account('operator') as never
  await router.push('/queues/new')
  expect(router.currentRoute.value.name).toBe('new-queue')
})

test('required two-factor setup blocks other pages', async () => {
  const principal = usePrincipalStore()
  principal.account = { ...account('superuser'), totp: 'required' } as never
  await router.push('/queues/new?x=1')
  expect(router.currentRoute.value).toMatchObject({ name: 'two-factor', query: { next: '/queues/new?x=1' } })
  principal.account = { ...account('superuser'), totp: 'on' } as never
  await router.push(back(router.currentRoute.value))
  expect(router.currentRoute.value.name).toBe('new-queue')
})
