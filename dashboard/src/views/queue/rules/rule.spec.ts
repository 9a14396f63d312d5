import { expect, test } from 'vitest'

import type { Rule } from '@/api/types'

import { headersOf, headerTest, tidy, withBound, withHeaderTest } from './rule'

test('a header is tested in one way', () => {
  const score = { name: 'cf-bot-score', value: '1' }
  expect(headerTest(score)).toBe('value')
  expect(headerTest(undefined)).toBe('value')
  for (const name of ['value', 'number', 'present', 'absent'] as const) {
    expect(headerTest(withHeaderTest(score, name))).toBe(name)
  }
  expect(withHeaderTest(score, 'value')).toEqual(score)
  expect(withHeaderTest(score, 'number')).toEqual({ name: 'cf-bot-score', below: 1 })
})

test('a number is below, above or between bounds', () => {
  const below = { name: 'cf-bot-score', below: 30 }
  expect(withBound(below, 'above', '10')).toEqual({ name: 'cf-bot-score', above: 10, below: 30 })
  expect(withBound({ ...below, above: 10 }, 'below', ' ')).toEqual({ name: 'cf-bot-score', above: 10 })
  expect(withBound(below, 'below', '')).toEqual({ name: 'cf-bot-score', above: 0 })
})

test('a client rule has neither a path nor a cookie', () => {
  const rule: Rule = { action: 'queue', path: ['/shop/**'], method: ['GET'], cookie: { name: 'a', value: '1' }, header: { name: 'x', present: false } }
  expect(tidy(rule)).toEqual(rule)
  expect(tidy({ ...rule, action: 'block' })).toEqual({ action: 'block', header: { name: 'x', present: false } })
  expect(tidy({ action: 'bypass', path: [], header: { name: '', value: '' } })).toEqual({ action: 'bypass' })
  const held: Rule = { action: 'hold', path: ['/checkout'], method: ['POST'], job_queue: 'orders.fifo', on_failure: 'refuse' }
  expect(tidy(held)).toEqual(held)
  expect(tidy({ ...held, action: 'queue' })).toEqual({ action: 'queue', path: ['/checkout'], method: ['POST'] })
})

test('headers of a test are one per line', () => {
  expect(headersOf(['cf-bot-score: 20', 'x-time:10:30'])).toEqual({ 'cf-bot-score': '20', 'x-time': '10:30' })
})
