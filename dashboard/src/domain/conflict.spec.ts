import { expect, test } from 'vitest'

import { conflicts, merged } from './conflict'

const base = { name: 'a', quota: 1, hosts: ['x'], rate: null as number | null, revision: 7 }

test('a setting changed by both is contested', () => {
  const found = conflicts(base, { ...base, quota: 2 }, { ...base, quota: 3, revision: 8 })
  expect(found).toEqual([{ field: 'quota', before: 1, theirs: 3, yours: 2 }])
})

test('a setting changed only by others is listed', () => {
  const found = conflicts(base, { ...base, name: 'b' }, { ...base, rate: 60, revision: 8 })
  expect(found).toEqual([{ field: 'rate', before: null, theirs: 60 }])
})

test('identical changes are not contested', () => {
  const found = conflicts(base, { ...base, hosts: ['y'] }, { ...base, hosts: ['y'], revision: 8 })
  expect(found).toEqual([{ field: 'hosts', before: ['x'], theirs: ['y'] }])
})

test('a setting changed only by the operator is no conflict', () => {
  expect(conflicts(base, { ...base, name: 'b' }, { ...base, revision: 9 })).toEqual([])
})

test('only a setting that both changed needs a choice', () => {
  const [mine, theirs] = [{ ...base, quota: 2, hosts: ['y'] }, { ...base, quota: 3, rate: 60, revision: 8 }]
  expect(merged(base, mine, theirs, [])).toEqual({ ...theirs, hosts: ['y'] })
  expect(merged(base, mine, theirs, ['quota'])).toEqual({ ...theirs, hosts: ['y'], quota: 2 })
  expect(merged<Partial<typeof base>>(base, { quota: 1, hosts: ['x'], rate: null }, { ...base, quota: 3 }, []), 'a removed setting').toEqual({ quota: 3, hosts: ['x'], rate: null })
})
