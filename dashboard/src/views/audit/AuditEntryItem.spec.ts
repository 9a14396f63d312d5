import { expect, test } from 'vitest'

import type { AuditEvent } from '@/api/types'
import { useStatsStore } from '@/stores/stats'
import { useTenantsStore } from '@/stores/tenants'
import { mountApp } from '@/testing/mount'
import { stats } from '@/testing/fixtures'

import AuditEntryItem from './AuditEntryItem.vue'

function shown(entry: Partial<AuditEvent>, isQueueKnown = false) {
  useStatsStore().setQueue(stats())
  useTenantsStore().tenants = [{ id: 'acme', name: 'Acme Live', color: null, logo: null, domains: null, origins: null }]
  const whole = { id: '1-0', at: 1_790_000_000, operator: 'otto', action: 'queue.update', request: 'r1', changes: [], ...entry }
  return mountApp(AuditEntryItem, { entry: whole, isQueueKnown })
}
const said = (wrapper: ReturnType<typeof mountApp>) => wrapper.get('p').text().replaceAll(/\s+/g, ' ')

test('an entry is a sentence, with a link to a queue that is there', () => {
  const line = shown({ action: 'queue.controls', queue: 'acme-tour', tenant: 'acme', changes: [{ field: 'quota', from: 20, to: 40 }] })
  expect(said(line)).toBe('otto changed controls of acme-tour')
  expect(line.get('a').attributes('href')).toBe('/queues/acme-tour')
  expect(line.get('.change').text()).toMatch(/^quota\s*before: 20\s*→\s*after: 40$/)
})

test('a queue that is gone, or whose page this is, has no link', () => {
  expect(shown({ queue: 'gone' }).find('a').exists()).toBe(false)
  expect(shown({ queue: 'acme-tour' }, true).find('a').exists()).toBe(false)
})

test('what nobody has words for is received by its code', () => {
  expect(said(shown({ action: 'queue.paint', tenant: 'acme' }))).toBe('otto queue.paint Acme Live')
  expect(said(shown({ operator: null, action: 'account.sign_in_rejected', subject: 'who' }))).toBe('Unknown user was denied sign-in who')
})

test('many changes are to be opened, and fields without a value are left out', () => {
  const changes = Array.from({ length: 8 }, (_, index) => ({ field: `field${index}`, from: null, to: index }))
  const line = shown({ changes: [...changes, { field: 'empty', from: null, to: [] }] })
  expect(line.get('summary').text()).toBe('8 fields')
})

test('a token that was used leads to all that it did', () => {
  const line = shown({ token: 'a2f4' })
  expect(line.get('a').attributes('href')).toBe('/audit?search=a2f4')
})

test('an event of unknown outcome says so', () => {
  const line = shown({ action: 'queue.release', queue: 'acme-tour', outcome: 'unknown' })
  expect(line.text()).toContain('may or may not have been applied')
})

test('a change by the settings file says so', () => {
  const line = shown({ operator: null, action: 'queue.update', queue: 'acme-tour', via: 'settings_file' })
  expect(line.text()).toMatch(/The settings file\s+changed the settings of/)
})

test('the life of a token is received in days', () => {
  const line = shown({ action: 'token.create', changes: [{ field: 'expires_in', from: null, to: 7_776_000 }] })
  expect(line.text()).toContain('90')
  expect(line.text()).not.toContain('7776000')
})
