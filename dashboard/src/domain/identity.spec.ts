import { expect, test } from 'vitest'

import type { Identity } from '@/api/types'

import { keysOf, keysText, kindOf, withChanges, withKind } from './identity'

const identity: Identity = { issuer: 'https://www.example.com', audience: ['tour'], from: ['cookie:shop_id'], keys: { keys: [] } }

test('accounts can be switched on and off', () => {
  expect(kindOf(undefined)).toBe('none')
  expect(kindOf(identity)).toBe('jwt')
  expect(withKind(identity, 'none')).toBeUndefined()
  expect(withKind(undefined, 'jwt')).toEqual({ kind: 'jwt', issuer: '', audience: [], from: [] })
})

test('a load balancer has no keys of its own', () => {
  expect(withKind(identity, 'alb')).toEqual({ kind: 'alb', issuer: 'https://www.example.com', audience: ['tour'], from: [] })
  expect(withKind({ ...identity, kind: 'alb' }, 'jwt')).toMatchObject({ kind: 'jwt', keys: { keys: [] } })
})

test('empty members are left out', () => {
  expect(withChanges({ ...identity, key_id: 'k1' }, { key_id: '', claim: 'user' })).toEqual({ ...identity, claim: 'user' })
  expect(withChanges(identity, { issuer: '' }).issuer).toBe('')
})

test('a key set is edited as JSON', () => {
  expect(keysOf(keysText({ keys: [] }))).toEqual({ keys: [] })
  expect(keysOf(' ')).toBeUndefined()
  expect(keysText(keysOf('{ "keys": '))).toBe('{ "keys": ')
})
