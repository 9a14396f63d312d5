import { expect, test } from 'vitest'

import { problemResponse, mockApi } from '@/testing/api'
import { stats } from '@/testing/fixtures'

import { useStatsStore } from './stats'

const signal = new AbortController().signal
const event = (...queues: object[]) => `event: stats\ndata: ${JSON.stringify({ queues })}\n\n`

test('streamed stats are stored as they arrive', async () => {
  mockApi({ 'GET /api/v1/stats/stream': () => new Response(event(stats({ waiting: 1 })) + event(stats({ waiting: 2, at: 1_790_000_002 }))) })
  const statsStore = useStatsStore()
  await statsStore.follow(signal)
  expect(statsStore.byId.get('acme-tour')?.waiting).toBe(2)
  expect(statsStore.at).toBe(1_790_000_002)
})

test('stats are polled where streaming is unavailable', async () => {
  const requests = mockApi({
    'GET /api/v1/stats/stream': () => problemResponse(404, 'streaming_unavailable'),
    'GET /api/v1/stats': { queues: [{ ...stats(), recent: [] }] },
  })
  const statsStore = useStatsStore()
  await statsStore.follow(signal)
  await statsStore.follow(signal)
  expect(requests.map(({ line }) => line)).toEqual(['GET /api/v1/stats/stream', 'GET /api/v1/stats?recent=0', 'GET /api/v1/stats?recent=0'])
  expect(statsStore.queues).toHaveLength(1)
})

test('the stream is retried after too many streams', async () => {
  const requests = mockApi({ 'GET /api/v1/stats/stream': () => problemResponse(503, 'too_many_streams'), 'GET /api/v1/stats': { queues: [] } })
  const statsStore = useStatsStore()
  await statsStore.follow(signal)
  await statsStore.follow(signal)
  expect(requests.filter(({ line }) => line === 'GET /api/v1/stats/stream')).toHaveLength(2)
})

test('unchanged stats keep their object identity', async () => {
  const received = [event(stats(), stats({ queue: 'other' })), event(stats({ at: 1_790_000_002 }), stats({ queue: 'other', waiting: 3 }))]
  mockApi({ 'GET /api/v1/stats/stream': () => new Response(received.shift()) })
  const statsStore = useStatsStore()
  await statsStore.follow(signal)
  const [before, other] = statsStore.queues
  await statsStore.follow(signal)
  expect(statsStore.queues[0]).toBe(before)
  expect(statsStore.queues[1]).not.toBe(other)
})

test('an expired sign-in does not fall back to polling', async () => {
  const requests = mockApi({ 'GET /api/v1/stats/stream': () => problemResponse(401, 'credential_invalid') })
  await expect(useStatsStore().follow(signal)).rejects.toMatchObject({ code: 'credential_invalid' })
  expect(requests).toHaveLength(1)
})
