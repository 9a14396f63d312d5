import { effectScope, nextTick, ref } from 'vue'
import { expect, test, vi } from 'vitest'

import * as service from '@/api/audit'
import type { AuditEvent } from '@/api/types'

import { useAuditPages, type AuditPages, type Search } from './useAuditPages'

const entry = (id: string) => ({ id, at: 1, action: 'queue.update', request: 'r', changes: [] }) as AuditEvent
const settled = () => new Promise((resolve) => setTimeout(resolve))

function pages(search: () => Search, hides = false): AuditPages {
  return effectScope().run(() => useAuditPages(search, () => hides)) as AuditPages
}

test('a search continues through parts without matches', async () => {
  const search = vi.spyOn(service, 'searchAudit')
  search.mockResolvedValueOnce({ events: [], next: '9-0' }).mockResolvedValueOnce({ events: [entry('8-0')], next: null })
  const found = pages(() => ({ search: 'x' }))
  await settled()
  expect(search.mock.calls[1]?.[0]).toMatchObject({ search: 'x', before: '9-0' })
  expect(found.entries.value?.map(({ id }) => id)).toEqual(['8-0'])
  expect(found.next.value).toBeNull()
})

test('older entries are appended', async () => {
  const search = vi.spyOn(service, 'searchAudit')
  const full = Array.from({ length: 50 }, (_, index) => entry(`${100 - index}-0`))
  search.mockResolvedValueOnce({ events: full, next: '51-0' }).mockResolvedValueOnce({ events: [entry('50-0')], next: null })
  const found = pages(() => ({}))
  await settled()
  expect(search).toHaveBeenCalledTimes(1)
  await found.older()
  expect(found.entries.value).toHaveLength(51)
  expect(found.entries.value?.at(-1)?.id).toBe('50-0')
})

test('a new search clears the entries', async () => {
  const search = vi.spyOn(service, 'searchAudit').mockResolvedValueOnce({ events: [entry('1-0')], next: null })
  search.mockReturnValue(new Promise(() => undefined))
  const text = ref('a')
  const found = pages(() => ({ search: text.value }))
  await settled()
  expect(found.entries.value).toHaveLength(1)
  text.value = 'b'
  await nextTick()
  expect(found.entries.value).toBeUndefined()
})

const signIn = (id: string) => ({ ...entry(id), action: 'account.sign_in' })

test('hiding sign-ins still fills a page', async () => {
  const search = vi.spyOn(service, 'searchAudit')
  // Every fourth entry is a change.
  const part = (from: number) => Array.from({ length: 200 }, (_, index) => (index % 4 === 0 ? entry : signIn)(`${from - index}-0`))
  search.mockResolvedValueOnce({ events: part(1000), next: '801-0' }).mockResolvedValueOnce({ events: part(800), next: null })
  const found = pages(() => ({}), true)
  await settled()
  expect(search).toHaveBeenCalledTimes(1)
  expect(found.entries.value).toHaveLength(50)
  expect(found.entries.value?.every(({ action }) => action === 'queue.update')).toBe(true)
  // The page ends with its last change; the next page starts there.
  expect([found.next.value, found.hidden.value]).toEqual(['804-0', 147])
  await found.older()
  expect(search.mock.calls[1]?.[0]).toMatchObject({ before: '804-0', limit: 200 })
  expect(found.hidden.value).toBeGreaterThan(147)
})

test('a search that finds only sign-ins stops and can continue', async () => {
  const search = vi.spyOn(service, 'searchAudit').mockResolvedValue({ events: [signIn('9-0')], next: '9-0' })
  const found = pages(() => ({}), true)
  await settled()
  expect(search).toHaveBeenCalledTimes(10)
  expect([found.entries.value, found.next.value, found.hidden.value]).toEqual([[], '9-0', 10])
})
