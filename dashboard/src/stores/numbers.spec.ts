import { expect, test } from 'vitest'

import { refusal, serve } from '@/testing/server'
import { stats } from '@/testing/queues'

import { useNumbers } from './numbers'

const signal = new AbortController().signal
const event = (...queues: object[]) => `event: stats\ndata: ${JSON.stringify({ queues })}\n\n`

test('what streams is taken as it comes', async () => {
  serve({ 'GET /api/v1/events': () => new Response(event(stats({ waiting: 1 })) + event(stats({ waiting: 2, at: 1_790_000_002 }))) })
  const numbers = useNumbers()
  await numbers.follow(signal)
  expect(numbers.byId.get('acme-tour')?.waiting).toBe(2)
  expect(numbers.at).toBe(1_790_000_002)
})

test('where nothing streams the numbers are asked for, and no stream is tried again', async () => {
  const asked = serve({
    'GET /api/v1/events': () => refusal(404, 'no_streams'),
    'GET /api/v1/stats': { queues: [{ ...stats(), recent: [] }] },
  })
  const numbers = useNumbers()
  await numbers.follow(signal)
  await numbers.follow(signal)
  expect(asked.map(({ line }) => line)).toEqual(['GET /api/v1/events', 'GET /api/v1/stats?recent=0', 'GET /api/v1/stats?recent=0'])
  expect(numbers.queues).toHaveLength(1)
})

test('where too many follow, the stream is tried again the next time', async () => {
  const asked = serve({ 'GET /api/v1/events': () => refusal(503, 'crowded'), 'GET /api/v1/stats': { queues: [] } })
  const numbers = useNumbers()
  await numbers.follow(signal)
  await numbers.follow(signal)
  expect(asked.filter(({ line }) => line === 'GET /api/v1/events')).toHaveLength(2)
})

test('a queue whose numbers are the same stays the same object', async () => {
  const told = [event(stats(), stats({ queue: 'other' })), event(stats({ at: 1_790_000_002 }), stats({ queue: 'other', waiting: 3 }))]
  serve({ 'GET /api/v1/events': () => new Response(told.shift()) })
  const numbers = useNumbers()
  await numbers.follow(signal)
  const [before, other] = numbers.queues
  await numbers.follow(signal)
  expect(numbers.queues[0]).toBe(before)
  expect(numbers.queues[1]).not.toBe(other)
})

test('an ended sign-in is no reason to ask another way', async () => {
  const asked = serve({ 'GET /api/v1/events': () => refusal(401, 'good_no_more') })
  await expect(useNumbers().follow(signal)).rejects.toMatchObject({ code: 'good_no_more' })
  expect(asked).toHaveLength(1)
})
