import { flushPromises } from '@vue/test-utils'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import { mockApi, problemResponse, type ApiRequest } from '@/testing/api'
import { job, jobQueue } from '@/testing/fixtures'
import { getElement, mountApp, signInAs } from '@/testing/mount'

import { useConfirmationStore } from '@/stores/confirmation'

import JobQueueView from './JobQueueView.vue'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] }))
afterEach(() => void vi.useRealTimers())

const QUEUE = '/api/v1/job-queues/updates.fifo'
const ID = job().job_id
type Answers = Parameters<typeof mockApi>[0]

async function open(role: 'operator' | 'viewer' = 'operator', answers: Answers = {}, changes = {}): Promise<ApiRequest[]> {
  const { settings } = jobQueue(changes)
  const requests = mockApi({ 'GET /api/v1/job-queues/mails': jobQueue(changes), [`GET ${QUEUE}`]: jobQueue(changes), [`GET ${QUEUE}/jobs/${ID}`]: job(), ...answers })
  signInAs(role)
  mountApp(JobQueueView, { jobQueue: settings.id })
  await settle()
  return requests
}

async function settle(): Promise<void> {
  await vi.advanceTimersByTimeAsync(1)
  await flushPromises()
}

async function press(text: string): Promise<void> {
  getElement<HTMLButtonElement>('button', text).click()
  await settle()
}

async function write(element: HTMLInputElement | HTMLTextAreaElement, value: string): Promise<void> {
  element.value = value
  element.dispatchEvent(new Event('input'))
  await settle()
}

async function find(id: string): Promise<void> {
  await write(getElement<HTMLInputElement>('input[type=search]'), id)
  getElement('.find').dispatchEvent(new Event('submit'))
  await settle()
}

const text = () => document.body.textContent.replaceAll('\u00a0', ' ')
const sent = (requests: ApiRequest[], line: string) => requests.filter((request) => request.line.includes(line))

test('statistics, counters and settings are shown', async () => {
  await open()
  for (const shown of ['Waiting5', 'Ready to start3', 'Oldest job1 min 30 s', 'Duplicates3', 'Failed attempts6', 'Replayed0', 'https://crm.acme.example/jobs', 'Jobs started per minuteNo limit', 'Duplicates are ignored for5 min', 'Dead letters are kept for14 d']) {
    expect(text()).toContain(shown)
  }
})

test('a blocked group is shown with the job that blocks it', async () => {
  await open('viewer', { [`GET ${QUEUE}`]: jobQueue({}, { blocked_group: { job_id: ID, age: 1_200 } }) })
  expect(text()).toContain('A group has been blocked for 20 min')
  expect(text()).toContain(`Job ${ID} is the first of its group`)
})

test('the statistics are read again', async () => {
  const requests = await open('viewer')
  await vi.advanceTimersByTimeAsync(3_000)
  expect(sent(requests, QUEUE)).toHaveLength(2)
})

test('viewers see neither jobs nor the secret nor actions', async () => {
  const requests = await open('viewer')
  expect(text()).toContain('Dead letters1')
  expect(document.querySelectorAll('button, input')).toHaveLength(0)
  expect(requests.map(({ line }) => line)).toEqual([`GET ${QUEUE}`])
})

test('the signing secret is shown after a click and can be hidden', async () => {
  const requests = await open('operator', { [`GET ${QUEUE}/secret`]: { secret: 'whsec_AAAA' } })
  expect(sent(requests, '/secret')).toEqual([])
  await press('Show signing secret')
  expect(getElement('.snippet').textContent).toContain('whsec_AAAA')
  await press('Hide signing secret')
  expect(text()).not.toContain('whsec_AAAA')
})

test('the signing secret is rotated after a confirmation', async () => {
  const requests = await open('operator', { [`POST ${QUEUE}/secret/rotate`]: { secret: 'whsec_BBBB', previous_until: 1_790_000_000 } })
  vi.spyOn(useConfirmationStore(), 'ask').mockResolvedValueOnce(false).mockResolvedValueOnce(true)
  await press('Rotate signing secret')
  expect(sent(requests, 'rotate')).toEqual([])
  await press('Rotate signing secret')
  expect(sent(requests, 'rotate')).toHaveLength(1)
  expect(getElement('.snippet').textContent).toContain('whsec_BBBB')
  expect(text()).toContain('The previous secret also signs calls until')
})

test('a rotation that ends an older secret is confirmed', async () => {
  const ends = { token: 't1', expires_in: 120, consequence: 'It ends at once.', message: { code: 'will_end_secret', params: { job_queue: 'updates.fifo' } } }
  const rotate = ({ headers }: ApiRequest) =>
    headers.get('x-vestibule-confirm') === 't1' ? { secret: 'whsec_CCCC', previous_until: 1_790_000_000 } : problemResponse(428, 'confirmation_required', { confirmation: ends })
  await open('operator', { [`POST ${QUEUE}/secret/rotate`]: rotate })
  const confirmation = useConfirmationStore()
  vi.spyOn(confirmation, 'ask').mockResolvedValueOnce(true)
  await press('Rotate signing secret')
  expect(confirmation.pending?.effect).toBe('It ends at once.')
  confirmation.pending?.answer(true)
  await flushPromises()
  expect(getElement('.snippet').textContent).toContain('whsec_CCCC')
})

test('a job is found by its ID with its attempts and payload', async () => {
  await open()
  await find(` ${ID} `)
  for (const shown of ['Waiting for a retry', 'Jobs ahead7', 'user-17', 'ada', '2b6e6c34-6dd6-402e-80cd-e3f03456f3f7', '{"status":"preparing"}', 'The handler did not respond in time', 'The handler responded with an error500', 'database is down', '"email": "ada@example.com"']) {
    expect(text()).toContain(shown)
  }
})

test('the response that completed a job is shown', async () => {
  await open('operator', { [`GET ${QUEUE}/jobs/${ID}`]: job({ state: 'completed', result: { status: 200, location: null, body: '12 of 12 updated' } }) })
  await find(ID)
  expect(text()).toContain('Final response200')
  expect(text()).toContain('12 of 12 updated')
  expect(text()).not.toContain('Jobs ahead')
})

test('a job is followed until it is finished', async () => {
  let state = 'running'
  const requests = await open('operator', { [`GET ${QUEUE}/jobs/${ID}`]: () => job({ state }) })
  await find(ID)
  state = 'completed'
  await vi.advanceTimersByTimeAsync(2_000)
  expect(getElement('.job [role=status]').textContent).toBe('Completed')
  const reads = sent(requests, '/jobs/').length
  await vi.advanceTimersByTimeAsync(10_000)
  expect(sent(requests, '/jobs/')).toHaveLength(reads)
})

test('an unknown job is reported and not read again', async () => {
  const requests = await open('operator', { [`GET ${QUEUE}/jobs/nothing`]: problemResponse(404, 'unknown_job', { detail: 'No job with this ID.' }) })
  await find('nothing')
  expect(getElement('[role=alert]').textContent).toContain('No job with this ID.')
  expect(document.body.textContent).toContain('The support code of a session is found on the page Visitors.')
  await vi.advanceTimersByTimeAsync(10_000)
  expect(sent(requests, '/jobs/nothing')).toHaveLength(1)
})

test('a test job is sent with its group, and shown', async () => {
  const requests = await open('operator', { [`POST ${QUEUE}/jobs`]: Response.json({ job_id: ID, job_queue: 'updates.fifo', state: 'queued', duplicate: false }, { status: 202 }) })
  await press('Send a test job')
  const [group] = [...document.querySelectorAll<HTMLInputElement>('[role=dialog] input[type=text]')]
  await write(group!, 'user-17')
  getElement('[role=dialog] form').dispatchEvent(new Event('submit'))
  await settle()
  const [request] = sent(requests, 'POST')
  expect([request?.line, request?.headers.get('content-type'), request?.body]).toEqual([`POST ${QUEUE}/jobs?group_id=user-17`, 'application/json', { test: true }])
  expect(document.querySelector('[role=dialog]')).toBeNull()
  expect(getElement<HTMLInputElement>('input[type=search]').value).toBe(ID)
  expect(text()).toContain('Waiting for a retry')
})

test('only rules enqueue held orders', async () => {
  await open('operator', { [`GET ${QUEUE}`]: jobQueue({ target: { kind: 'origin' } }, { dead: 4, dead_lettered: 0, unknown: 4 }) })
  expect(text()).toContain('Outcome became unknown4')
  expect(text()).not.toContain('Send a test job')
})

test('only an unchanged test job keeps its idempotency key', async () => {
  const requests = await open('operator', { 'POST /api/v1/job-queues/mails/jobs': () => problemResponse(503, 'enqueue_unconfirmed', { params: { job_id: ID } }) }, { id: 'mails' })
  await press('Send a test job')
  expect(document.querySelectorAll('[role=dialog] input[type=text]')).toHaveLength(0)
  const submit = async () => {
    getElement('[role=dialog] form').dispatchEvent(new Event('submit'))
    await settle()
  }
  await submit()
  expect(getElement('[role=dialog] [role=alert]').textContent).toContain(`The job ${ID} may or may not be queued. Send it again without changes`)
  await submit()
  getElement<HTMLInputElement>('[role=dialog] [value="text/plain"]').click()
  await write(getElement<HTMLTextAreaElement>('[role=dialog] textarea'), 'hello')
  await submit()
  const posts = sent(requests, 'POST')
  const [first, second, third] = posts.map(({ headers }) => headers.get('idempotency-key'))
  expect(second).toBe(first)
  expect(third).not.toBe(first)
  expect([posts[2]?.line, posts[2]?.body]).toEqual(['POST /api/v1/job-queues/mails/jobs', 'hello'])
})

test.each([
  ['http', `The job ${ID} never runs.`],
  ['origin', `The order ${ID} is not placed, and its visitor sees that.`],
] as const)('the question before a job is canceled fits the target %s', async (kind, body) => {
  const target = kind === 'http' ? { kind, url: 'https://crm.acme.example/jobs' } : { kind }
  await open('operator', {}, { target })
  await find(ID)
  await press('Cancel job')
  expect(useConfirmationStore().pending?.body).toBe(body)
})
