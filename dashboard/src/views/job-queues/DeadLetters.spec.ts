import { flushPromises } from '@vue/test-utils'
import { expect, test, vi } from 'vitest'

import { mockApi, problemResponse, type ApiRequest } from '@/testing/api'
import { job, jobQueue } from '@/testing/fixtures'
import { getElement, mountApp, signInAs } from '@/testing/mount'
import { useConfirmationStore } from '@/stores/confirmation'
import type { Job } from '@/api/types'

import DeadLetters from './DeadLetters.vue'

const QUEUE = '/api/v1/job-queues/updates.fifo'
const letter = (id: string, changes: Partial<Job> = {}) => job({ job_id: id, state: 'failed', reason: 'permanent', ended_at: 1_790_000_000, payload: null, ...changes })

async function open(letters: Job[], answers: Parameters<typeof mockApi>[0] = {}, changes = {}, next: string | null = null): Promise<ApiRequest[]> {
  const requests = mockApi({ [`GET ${QUEUE}/dead-letters`]: { dead_letters: letters, next }, ...answers })
  signInAs('operator')
  mountApp(DeadLetters, { jobQueue: jobQueue(changes) })
  await vi.waitFor(() => expect(document.body.textContent).not.toContain('Loading'))
  await flushPromises()
  return requests
}

async function choose(label: string, item: string): Promise<void> {
  getElement(`[aria-label="Actions: ${label}"]`).dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }))
  await vi.waitFor(() => getElement('[role=menuitem]', item))
  getElement<HTMLElement>('[role=menuitem]', item).click()
  await flushPromises()
}

const sent = (requests: ApiRequest[], method: string) => requests.filter(({ line }) => line.startsWith(method))
const confirm = (yes = true) => vi.spyOn(useConfirmationStore(), 'ask').mockResolvedValue(yes)

test('dead letters are listed with reason and status', async () => {
  await open([letter('A'), letter('B', { reason: 'expired', attempts: [] })])
  const [first, second] = [...document.querySelectorAll('tbody tr')].map((row) => row.textContent)
  expect(first).toContain('The handler reported a permanent failure')
  expect(second).toContain('Not finished in time')
})

test('no dead letters, nothing to replay', async () => {
  await open([])
  expect(document.body.textContent).toContain('No dead letters.')
  expect(document.querySelectorAll('button')).toHaveLength(0)
})

test('one dead letter is replayed', async () => {
  const requests = await open([letter('A')], { [`POST ${QUEUE}/dead-letters/replay`]: { replayed: 1, complete: true } })
  await choose('A', 'Replay')
  await vi.waitFor(() => expect(sent(requests, 'POST').map(({ body }) => body)).toEqual([{ job_ids: ['A'] }]))
})

test('all are replayed after a confirmation', async () => {
  const requests = await open([letter('A')], { [`POST ${QUEUE}/dead-letters/replay`]: { replayed: 7, complete: true } })
  const asked = confirm(false)
  getElement<HTMLButtonElement>('button', 'Replay all').click()
  await flushPromises()
  expect(sent(requests, 'POST')).toEqual([])
  asked.mockResolvedValue(true)
  getElement<HTMLButtonElement>('button', 'Replay all').click()
  await vi.waitFor(() => expect(sent(requests, 'POST').map(({ body }) => body)).toEqual([{ all: true }]))
})

test('a dead letter is deleted after a confirmation', async () => {
  const requests = await open([letter('A')], { [`DELETE ${QUEUE}/dead-letters/A`]: new Response(null, { status: 204 }) })
  confirm()
  await choose('A', 'Delete')
  await vi.waitFor(() => expect(sent(requests, 'DELETE')).toHaveLength(1))
})

test('all are deleted after a confirmation', async () => {
  const confirmation = { token: 'c-1', expires_in: 120, consequence: 'The 7 dead letters will be deleted.' }
  const requests = await open([letter('A')], {
    [`POST ${QUEUE}/dead-letters/delete`]: ({ headers }) =>
      headers.get('X-Vestibule-Confirm') === 'c-1' ? { deleted: 7, complete: true } : problemResponse(428, 'confirmation_required', { confirmation }),
  })
  const store = useConfirmationStore()
  const ask = async () => {
    getElement<HTMLButtonElement>('button', 'Delete all').click()
    await vi.waitFor(() => expect(store.pending).toMatchObject({ effect: 'The 7 dead letters will be deleted.', isDangerous: true }))
  }
  await ask()
  store.pending?.answer(false)
  await flushPromises()
  expect(sent(requests, 'POST')).toHaveLength(1)
  await ask()
  store.pending?.answer(true)
  await vi.waitFor(() => expect(sent(requests, 'POST').map(({ body }) => body)).toEqual(Array(3).fill({ all: true })))
})

test('unknown held orders are resolved, not replayed', async () => {
  const requests = await open([letter('A', { state: 'unknown', reason: 'timeout' })], { [`POST ${QUEUE}/dead-letters/A/resolve`]: new Response(null, { status: 204 }) }, { target: { kind: 'origin' } })
  expect(document.body.textContent).not.toContain('Replay all')
  expect(document.body.textContent).toContain('Outcome unknown')
  const asked = confirm(false)
  await choose('A', 'Mark as not placed')
  expect(sent(requests, 'POST')).toEqual([])
  asked.mockResolvedValue(true)
  await choose('A', 'Mark as not placed')
  await vi.waitFor(() => expect(sent(requests, 'POST').map(({ body }) => body)).toEqual([{ outcome: 'not_placed' }]))
})

test('older dead letters are on the next page', async () => {
  const requests = await open([letter('A')], {}, {}, '17-3')
  getElement<HTMLButtonElement>('button', 'Older').click()
  await vi.waitFor(() => expect(requests.at(-1)?.line).toContain('before=17-3'))
})

test('a problem is shown', async () => {
  await open([], { [`GET ${QUEUE}/dead-letters`]: problemResponse(503, 'store_unavailable', { detail: 'The store is unavailable.' }) })
  expect(getElement('[role=alert]').textContent).toContain('The store is unavailable.')
})
