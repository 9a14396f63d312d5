import { expect, test } from 'vitest'

import { flattenChanges, listDifference } from './changes'

test('objects are reduced to their changed members', () => {
  const change = { field: 'handover', from: { kind: 'proxy', origin: 'http://a' }, to: { kind: 'proxy', origin: 'http://b' } }
  expect(flattenChanges([change])).toEqual([{ field: 'handover.origin', from: 'http://a', to: 'http://b' }])
})

test('list entries are numbered from one', () => {
  const rule = { action: 'bypass', path: '/static/**' }
  expect(flattenChanges([{ field: 'rules', from: [rule], to: [rule, { action: 'queue' }] }])).toEqual([
    { field: 'rules[2]', from: null, to: { action: 'queue' } },
  ])
})

test('entries with IDs are compared by them', () => {
  const event = (id: string, starts_at: string) => ({ id, starts_at, order: 'draw' })
  const [presale, sale] = [event('presale', '2027-03-04T10:00:00Z'), event('sale', '2027-03-05T10:00:00Z')]
  const now = event('now', '2027-03-03T10:00:00Z')
  expect(flattenChanges([{ field: 'events', from: [presale, sale], to: [now, presale, sale] }])).toEqual([{ field: 'events[now]', from: null, to: now }])
  expect(flattenChanges([{ field: 'events', from: [presale, sale], to: [{ ...sale, starts_at: now.starts_at }] }])).toEqual([
    { field: 'events[presale]', from: presale, to: null },
    { field: 'events[sale].starts_at', from: sale.starts_at, to: now.starts_at },
  ])
})

test('entries without IDs are compared by their content', () => {
  const [bypass, block, queue] = [{ action: 'bypass', path: '/static/**' }, { action: 'block', path: '/wp-admin/**' }, { action: 'queue', path: '/**' }]
  const changes = (from: unknown[], to: unknown[]) => flattenChanges([{ field: 'rules', from, to }])
  expect(changes([block, queue], [bypass, block, queue])).toEqual([{ field: 'rules[1]', from: null, to: bypass }])
  expect(changes([bypass, block, queue], [bypass, queue])).toEqual([{ field: 'rules[2]', from: block, to: null }])
  expect(changes([block, queue], [bypass, { ...block, path: '/admin/**' }, queue]), 'two entries in place of one').toEqual([
    { field: 'rules[1].action', from: 'block', to: 'bypass' },
    { field: 'rules[1].path', from: '/wp-admin/**', to: '/static/**' },
    { field: 'rules[2]', from: null, to: { ...block, path: '/admin/**' } },
  ])
  expect(changes([block, queue], [bypass, block, { ...queue, path: '/shop/**' }])).toEqual([
    { field: 'rules[1]', from: null, to: bypass },
    { field: 'rules[3].path', from: '/**', to: '/shop/**' },
  ])
  const part = { field: 'rules[1].path', from: '/static/**', to: '/assets/**' }
  expect(flattenChanges([part]), 'a part of a long list').toEqual([{ ...part, field: 'rules[2].path' }])
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
