import { expect, test } from 'vitest'

import { refusal, serve } from '@/testing/server'

import { useSession } from './session'

const otto = { operator: 'otto', role: 'operator', tenants: ['acme'], token: null, ends_at: 1_790_000_000 }

test('an operator changes what is their tenants’, a viewer nothing, a superuser all', async () => {
  const may = async (account: object) => {
    serve({ 'GET /api/v1/sign-in': account })
    const session = useSession()
    await session.refresh()
    return [session.operates('acme'), session.operates('coral'), session.isOperator, session.isSuperuser]
  }
  expect(await may(otto)).toEqual([true, false, true, false])
  expect(await may({ ...otto, role: 'viewer' })).toEqual([false, false, false, false])
  expect(await may({ ...otto, role: 'superuser', tenants: null })).toEqual([true, true, true, true])
})

test('who opens the page without a sign-in is nobody, and nothing lapsed', async () => {
  for (const nobody of [() => Response.json(null), () => refusal(401, 'good_no_more')]) {
    serve({ 'GET /api/v1/sign-in': nobody })
    const session = useSession()
    await session.load()
    expect([session.account, session.lapsed]).toEqual([null, false])
    session.account = undefined
  }
})

test('a sign-in that has ended is found out', async () => {
  let account: object | null = otto
  serve({ 'GET /api/v1/sign-in': () => Response.json(account) })
  const session = useSession()
  await session.load()
  account = null
  await session.refresh()
  expect([session.account, session.lapsed]).toEqual([null, true])
})

test('a server that can’t be reached does not sign anybody out', async () => {
  serve({})
  const session = useSession()
  await expect(session.load()).rejects.toMatchObject({ code: 'unreachable' })
  expect(session.account).toBeUndefined()
})

test('a sign-in that ends by itself is told apart from signing out', async () => {
  serve({ 'GET /api/v1/sign-in': otto, 'DELETE /api/v1/sign-in': 204 })
  const session = useSession()
  await session.load()
  session.expired()
  expect([session.account, session.lapsed]).toEqual([null, true])
  await session.refresh()
  await session.signOut()
  expect([session.account, session.lapsed]).toEqual([null, false])
})

test('who signs out is signed out here even if the server is gone', async () => {
  serve({ 'GET /api/v1/sign-in': otto })
  const session = useSession()
  await session.load()
  await expect(session.signOut()).rejects.toMatchObject({ code: 'unreachable' })
  expect(session.account).toBeNull()
})
