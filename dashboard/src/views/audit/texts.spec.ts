import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { locale } from '@/locale'

import { useAuditTexts } from './texts'

/** Where the server names what it logs. */
const API = '../crates/admin/src/api'

const sources = readdirSync(API, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.rs'))
const named = sources.flatMap((name) => [...readFileSync(join(API, name), 'utf8').matchAll(/"((?:queue|session|tenant|theme|operator|token|account|settings)\.[a-z_]+)"/g)])
const deeds = new Set(named.map(([, deed]) => deed ?? '').filter((deed) => deed !== 'queue.html'))

test.each(['en', 'de'] as const)('in %s, everything that the server logs has its words', (name) => {
  locale.value = name
  expect(deeds.size).toBeGreaterThan(20)
  expect([...deeds].filter((deed) => !useAuditTexts().value.deeds[deed])).toEqual([])
})
