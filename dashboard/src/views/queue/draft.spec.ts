import { expect, test } from 'vitest'

import { copy, same } from '@/domain/same'
import { settings } from '@/testing/queues'

import { patchOf } from './draft'

test('a patch holds what was changed, of the fields of the form', () => {
  const draft = { ...settings(), name: 'Grand tour', quota: 5, max_session: 3600 }
  expect(patchOf(settings(), draft, ['name', 'max_session', 'hosts'])).toEqual({ name: 'Grand tour', max_session: 3600 })
  expect(patchOf(settings(), copy(settings()), ['name', 'hosts', 'handover', 'rules'])).toEqual({})
})

test('a handover without an origin takes the one before away', () => {
  const draft = { ...settings(), handover: { kind: 'check' as const, origin: undefined } }
  expect(patchOf(settings(), draft, ['handover'])).toEqual({ handover: { kind: 'check', origin: null } })
})

test('values are the same whatever the order of their members', () => {
  expect(same({ a: 1, b: [1, { c: null }] }, { b: [1, {}], a: 1 })).toBe(true)
  expect(same([1, 2], [2, 1])).toBe(false)
  expect(same([], {})).toBe(false)
  expect(same(null, undefined)).toBe(true)
  expect(same(0, null)).toBe(false)
})
