import { expect, test } from 'vitest'

import { flattenChanges, listDifference } from './changes'

test('objects are reduced to their changed members', () => {
  const change = { field: 'handover', from: { kind: 'proxy', origin: 'http://a' }, to: { kind: 'proxy', origin: 'http://b' } }
  expect(flattenChanges([change])).toEqual([{ field: 'handover.origin', from: 'http://a', to: 'http://b' }])
})

test('list entries are numbered from one', () => {
  const rule = { action: 'bypass', path: '/static/**' }
  expect(flattenChanges([{ field: 'rules', from: [rule], to: [rule, { action: 'queue' }] }])).toEqual([
    { field: 'rules[2].action', from: null, to: 'queue' },
  ])
})

test('plain lists show removed and added values', () => {
  const change = { field: 'hosts', from: ['a', 'b'], to: ['b', 'c'] }
  expect(flattenChanges([change])).toEqual([change])
  expect(listDifference(change)).toEqual({ removed: ['a'], added: ['c'] })
  expect(listDifference({ field: 'hosts', from: ['a', 'b'], to: ['b', 'a'] })).toBeUndefined()
  expect(listDifference({ field: 'quota', from: 1, to: 2 })).toBeUndefined()
})

test('a truncated object is shown as it is', () => {
  const change = { field: 'rules', from: '[{"action":…', to: [{ action: 'queue' }] }
  expect(flattenChanges([change])).toEqual([change])
})
