import { expect, test } from 'vitest'

import { deepCopy, isEqual } from '@/domain/json'
import { settings } from '@/testing/fixtures'

import { patchOf } from './useDraft'

test('a patch holds the changed fields of the form', () => {
  const draft = { ...settings(), name: 'Grand tour', quota: 5, max_session: 3600 }
  expect(patchOf(settings(), draft, ['name', 'max_session', 'hosts'])).toEqual({ name: 'Grand tour', max_session: 3600 })
  expect(patchOf(settings(), deepCopy(settings()), ['name', 'hosts', 'handover', 'rules'])).toEqual({})
})

test('an empty origin is sent as null', () => {
  const draft = { ...settings(), handover: { kind: 'check' as const, origin: undefined } }
  expect(patchOf(settings(), draft, ['handover'])).toEqual({ handover: { kind: 'check', origin: null } })
})

test('equality ignores the order of object members', () => {
  expect(isEqual({ a: 1, b: [1, { c: null }] }, { b: [1, {}], a: 1 })).toBe(true)
  expect(isEqual([1, 2], [2, 1])).toBe(false)
  expect(isEqual([], {})).toBe(false)
  expect(isEqual(null, undefined)).toBe(true)
  expect(isEqual(0, null)).toBe(false)
})
