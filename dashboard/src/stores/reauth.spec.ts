import { expect, test, vi } from 'vitest'

import { Problem } from '@/api/problem'

import { useReauthStore } from './reauth'

const PROBLEM = { type: 'about:blank', title: '', status: 400 }

const wanted = () => new Problem(403, { ...PROBLEM, code: 'password_required', detail: '' })

test('the call is retried after the password was entered', async () => {
  const store = useReauthStore()
  const call = vi.fn<() => Promise<number>>().mockRejectedValueOnce(wanted()).mockResolvedValueOnce(5)
  const done = store.withPassword(call)
  await vi.waitFor(() => expect(store.pending).toBeDefined())
  store.pending?.(true)
  expect(await done).toBe(5)
  expect(store.pending).toBeUndefined()
})

test('the call is not retried without a password', async () => {
  const store = useReauthStore()
  const call = vi.fn(() => Promise.reject(wanted()))
  const done = store.withPassword(call)
  await vi.waitFor(() => expect(store.pending).toBeDefined())
  store.pending?.(false)
  await expect(done).rejects.toMatchObject({ code: 'password_required' })
  expect(call).toHaveBeenCalledTimes(1)
})

test('other problems are thrown', async () => {
  await expect(useReauthStore().withPassword(() => Promise.reject(new Problem(403)))).rejects.toMatchObject({ status: 403 })
})
