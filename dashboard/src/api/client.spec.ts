import { afterEach, expect, test, vi } from 'vitest'

import { problemText } from '@/i18n/server-text'
import { problemResponse, mockApi } from '@/testing/api'

import { body, client, confirmation, ifMatch, observeRequests } from './client'
import { codesCsvUrl } from './invitations'
import { Problem } from './problem'
import { updateControls } from './queues'

const received = { answered: vi.fn(), failed: vi.fn(), expired: vi.fn() }

afterEach(() => {
  vi.useRealTimers()
  Object.values(received).forEach((mock) => mock.mockReset())
})

const problem = async (request: Promise<unknown>) => {
  const error = await request.catch((error: unknown) => error)
  expect(error).toBeInstanceOf(Problem)
  return error as Problem
}

test('path parameters are escaped and empty queries omitted', async () => {
  const requests = mockApi({ 'GET /api/v1/queues/a%2F..%2Fb/sessions?limit=50': { sessions: [] } })
  await body(client.GET('/api/v1/queues/{queue}/sessions', { params: { path: { queue: 'a/../b' }, query: { from: undefined, limit: 50 } } }))
  expect(requests).toHaveLength(1)
  expect(codesCsvUrl('a b', 'c', 1, 2)).toBe('/api/v1/queues/a%20b/invitations/c/codes?from=1&count=2')
})

test('only writes carry the dashboard’s request header', async () => {
  const requests = mockApi({ 'GET /api/v1/tenants': { tenants: [] }, 'DELETE /api/v1/sign-in': 204 })
  await body(client.GET('/api/v1/tenants'))
  expect(await body(client.DELETE('/api/v1/sign-in'))).toBeUndefined()
  expect(requests.map(({ headers }) => headers.get('x-vestibule-request'))).toEqual([null, '1'])
})

test('writes carry If-Match and the confirmation token', async () => {
  const requests = mockApi({ 'PATCH /api/v1/queues/a': {}, 'DELETE /api/v1/queues/a': 204 })
  await body(client.PATCH('/api/v1/queues/{queue}', { params: { path: { queue: 'a' }, header: ifMatch(7) }, body: { name: 'A' } }))
  await body(client.DELETE('/api/v1/queues/{queue}', { params: { path: { queue: 'a' }, header: confirmation('token') } }))
  expect(requests[0]?.headers.get('if-match')).toBe('"7"')
  expect(requests[0]?.body).toEqual({ name: 'A' })
  expect(requests[1]?.headers.get('x-vestibule-confirm')).toBe('token')
})

test('NaN is never sent as null', async () => {
  const requests = mockApi({ 'PATCH /api/v1/queues/a/controls': {} })
  await updateControls('a', { admissions_per_minute: NaN, max_session: null } as never)
  expect(requests[0]?.body).toEqual({ admissions_per_minute: 'not a number', max_session: null })
})

test('a request over the load balancer limit changed nothing', async () => {
  mockApi({ 'POST /api/v1/tenants': new Response('<html>413 Request Entity Too Large</html>', { status: 413 }) })
  const tooLarge = await problem(body(client.POST('/api/v1/tenants', { body: { id: 'a', name: 'A' } })))
  expect([tooLarge.code, tooLarge.isUncertain]).toEqual(['too_large', false])
  expect(problemText(tooLarge)).toContain('Nothing was changed')
})

test('a problem has fields and a retry delay', async () => {
  const errors = [{ code: 'takes', field: 'rules[1].path[0]', detail: 'takes a path' }]
  mockApi({ 'POST /api/v1/tenants': problemResponse(422, 'validation_failed', { errors }) })
  const wrong = await problem(body(client.POST('/api/v1/tenants', { body: { id: 'a', name: 'A' } })))
  expect([wrong.status, wrong.code, wrong.errorOf('rules')?.code, wrong.errorOf('rule')]).toEqual([422, 'validation_failed', 'takes', undefined])

  const slowed = problemResponse(429, 'rate_limited')
  slowed.headers.set('retry-after', '30')
  mockApi({ 'POST /api/v1/sign-in': slowed })
  expect((await problem(body(client.POST('/api/v1/sign-in', { body: { name: 'a', password: 'b' } })))).retryAfter).toBe(30)
})

test('an expired sign-in is reported, a wrong password is not', async () => {
  observeRequests(received)
  mockApi({ 'GET /api/v1/tenants': problemResponse(401, 'credential_invalid'), 'POST /api/v1/sign-in': problemResponse(401, 'wrong_password') })
  await problem(body(client.POST('/api/v1/sign-in', { body: { name: 'a', password: 'b' } })))
  expect(received.expired).not.toHaveBeenCalled()
  await problem(body(client.GET('/api/v1/tenants')))
  expect(received.expired).toHaveBeenCalledOnce()
})

test('network errors and proxy errors count as unreachable', async () => {
  observeRequests(received)
  mockApi({ 'GET /api/v1/tokens': new Response('<h1>Bad Gateway</h1>', { status: 502 }) })
  expect((await problem(body(client.GET('/api/v1/tenants')))).code).toBe('unreachable')
  expect((await problem(body(client.GET('/api/v1/tokens')))).code).toBe('unreachable')
  expect(received.failed).toHaveBeenCalledTimes(2)
})

test('an unavailable store counts as a response', async () => {
  observeRequests(received)
  mockApi({ 'GET /api/v1/tenants': problemResponse(503, 'store_unavailable') })
  await problem(body(client.GET('/api/v1/tenants')))
  expect(received.failed).not.toHaveBeenCalled()
  expect(received.answered).toHaveBeenCalledWith(expect.objectContaining({ code: 'store_unavailable' }))
})

test('an aborted request is not a failure', async () => {
  observeRequests(received)
  const controller = new AbortController()
  controller.abort()
  mockApi({})
  await expect(body(client.GET('/api/v1/tenants', { signal: controller.signal }))).rejects.not.toBeInstanceOf(Problem)
  expect(received.failed).not.toHaveBeenCalled()
})
