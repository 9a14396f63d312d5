import { expect, test } from 'vitest'

import { ownerOf } from './theme-owner'

test('a theme belongs to the tenant that prefixes its name', () => {
  const tenants = ['acme', 'acme-live', 'blue']
  const themes = ['acme', 'acme-summer', 'acme-live', 'acme-live-2027', 'acme-lively', 'acmeish', 'default']
  expect(themes.map((theme) => ownerOf(theme, tenants))).toEqual([
    'acme', 'acme', 'acme-live', 'acme-live', 'acme', undefined, undefined,
  ])
})
