import { expect, test, vi } from 'vitest'

import { Problem } from '@/api/problem'

import { useConfirmationStore } from './confirmation'

const PROBLEM = { type: 'about:blank', title: '', status: 400 }

const question = { title: 'Remove?', action: 'Remove' }
const wanted = (token: string, effect: string) => {
  const message = { code: 'will_remove_tenant' as const, params: {} }
  return new Problem(428, { ...PROBLEM, code: 'confirmation_required', detail: '', confirmation: { token, consequence: effect, message, expires_in: 120 } })
}

test('a confirmed call is repeated with the token', async () => {
  const store = useConfirmationStore()
  const call = vi.fn((token?: string) => (token === 't1' ? Promise.resolve(5) : Promise.reject(wanted('t1', 'Five will go'))))
  const done = store.confirmed(call, question)
  await vi.waitFor(() => expect(store.pending?.effect).toBe('Five will go.'))
  store.pending?.answer(true)
  expect(await done).toEqual({ answer: 5 })
  expect(store.pending).toBeUndefined()
})

test('a declined call is not repeated', async () => {
  const store = useConfirmationStore()
  const call = vi.fn(() => Promise.reject(wanted('t1', 'Five will go')))
  const done = store.confirmed(call, question)
  await vi.waitFor(() => expect(store.pending).toBeDefined())
  store.pending?.answer(false)
  expect(await done).toBeUndefined()
  expect(call).toHaveBeenCalledTimes(1)
})

test('changed consequences are confirmed again', async () => {
  const store = useConfirmationStore()
  const effects = ['Five will go', 'Nine will go']
  const call = vi.fn(() => {
    const effect = effects.shift()
    return effect ? Promise.reject(wanted(effect, effect)) : Promise.resolve(1)
  })
  const done = store.confirmed(call, question)
  for (const effect of ['Five will go', 'Nine will go']) {
    await vi.waitFor(() => expect(store.pending?.effect).toBe(`${effect}.`))
    store.pending?.answer(true)
  }
  expect(await done).toEqual({ answer: 1 })
  expect(call.mock.calls).toEqual([[undefined], ['Five will go'], ['Nine will go']])
})

test('problems without a confirmation are thrown', async () => {
  await expect(useConfirmationStore().confirmed(() => Promise.reject(new Problem(403)), question)).rejects.toMatchObject({ status: 403 })
})
