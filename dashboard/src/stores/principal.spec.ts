import { expect, test } from 'vitest'

import { problemResponse, mockApi } from '@/testing/api'

import { usePrincipalStore } from './principal'

const otto = { operator: 'otto', role: 'operator', tenants: ['acme'], token: null, ends_at: 1_790_000_000 }

test('roles and tenants decide what can be edited', async () => {
  const may = async (account: object) => {
    mockApi({ 'GET /api/v1/sign-in': account })
    const principal = usePrincipalStore()
    await principal.refresh()
    return [principal.canEdit('acme'), principal.canEdit('coral'), principal.isOperator, principal.isSuperuser]
  }
  expect(await may(otto)).toEqual([true, false, true, false])
  expect(await may({ ...otto, role: 'viewer' })).toEqual([false, false, false, false])
  expect(await may({ ...otto, role: 'superuser', tenants: null })).toEqual([true, true, true, true])
})

test('without a sign-in there is no principal or notice', async () => {
  for (const nobody of [() => Response.json(null), () => problemResponse(401, 'credential_invalid')]) {
    mockApi({ 'GET /api/v1/sign-in': nobody })
    const principal = usePrincipalStore()
    await principal.load()
    expect([principal.account, principal.signInExpired]).toEqual([null, false])
    principal.account = undefined
  }
})

test('refresh detects an expired sign-in', async () => {
  let account: object | null = otto
  mockApi({ 'GET /api/v1/sign-in': () => Response.json(account) })
  const principal = usePrincipalStore()
  await principal.load()
  account = null
  await principal.refresh()
  expect([principal.account, principal.signInExpired]).toEqual([null, true])
})

test('an unreachable server does not sign the operator out', async () => {
  mockApi({})
  const principal = usePrincipalStore()
  await expect(principal.load()).rejects.toMatchObject({ code: 'unreachable' })
  expect(principal.account).toBeUndefined()
})

test('an expired sign-in differs from signing out', async () => {
  mockApi({ 'GET /api/v1/sign-in': otto, 'DELETE /api/v1/sign-in': 204 })
  const principal = usePrincipalStore()
  await principal.load()
  principal.expired()
  expect([principal.account, principal.signInExpired]).toEqual([null, true])
  await principal.refresh()
  await principal.signOut()
  expect([principal.account, principal.signInExpired]).toEqual([null, false])
})

test('sign-out clears the principal even if the request fails', async () => {
  mockApi({ 'GET /api/v1/sign-in': otto })
  const principal = usePrincipalStore()
  await principal.load()
  await expect(principal.signOut()).rejects.toMatchObject({ code: 'unreachable' })
  expect(principal.account).toBeNull()
})
