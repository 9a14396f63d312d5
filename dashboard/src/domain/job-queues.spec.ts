import { expect, test } from 'vitest'

import { job, jobQueue } from '@/testing/fixtures'

import { isFifo, payloadText, stateOf, targetHost } from './job-queues'

const NOW = 1_790_000_000

test('an operator pauses a job queue before its handler does', () => {
  expect(stateOf(jobQueue(), NOW)).toBe('running')
  expect(stateOf(jobQueue({}, { paused_until: NOW + 1 }), NOW)).toBe('throttled')
  expect(stateOf(jobQueue({}, { paused_until: NOW }), NOW)).toBe('running')
  expect(stateOf(jobQueue({ paused: true }, { paused_until: NOW + 1 }), NOW)).toBe('paused')
  expect(stateOf({ ...jobQueue(), stats: null }, NOW)).toBe('running')
})

test('type and target host of a job queue are derived', () => {
  expect([isFifo('updates.fifo'), isFifo('mails')]).toEqual([true, false])
  expect(targetHost(jobQueue({ target: { kind: 'http', url: 'https://crm.acme.example:8443/jobs' } }))).toBe('crm.acme.example:8443')
})

test('payloads are shown as indented JSON, text or base64', () => {
  expect(payloadText(job({ payload: { a: [1] } }))).toBe('{\n  "a": [\n    1\n  ]\n}')
  expect(payloadText(job({ content_type: 'application/ld+json; charset=utf-8', payload: 'text' }))).toBe('"text"')
  expect(payloadText(job({ payload: null }))).toBe('null')
  expect(payloadText(job({ content_type: 'text/plain', payload: 'hello' }))).toBe('hello')
  expect(payloadText(job({ content_type: 'image/png', payload: null, payload_base64: '/wAB' }))).toBe('/wAB')
  expect(payloadText(job({ state: 'completed', content_type: null, payload: null }))).toBeUndefined()
})
