import { expect, test } from 'vitest'

import type { AuditEvent } from '@/api/types'
import { zone } from '@/i18n'
import { useStatsStore } from '@/stores/stats'
import { useTenantsStore } from '@/stores/tenants'
import { mountApp } from '@/testing/mount'
import { stats } from '@/testing/fixtures'

import AuditEntryItem from './AuditEntryItem.vue'

function shown(entry: Partial<AuditEvent>, isQueueKnown = false) {
  useStatsStore().setQueue(stats())
  useTenantsStore().tenants = [{ id: 'acme', name: 'Acme Live', color: null, logo: null, domains: null, origins: null, max_job_queues: null }]
  const whole = { id: '1-0', at: 1_790_000_000, operator: 'otto', action: 'queue.update', request: 'r1', changes: [], ...entry }
  return mountApp(AuditEntryItem, { entry: whole, isQueueKnown })
}
const said = (wrapper: ReturnType<typeof mountApp>) => wrapper.get('p').text().replaceAll(/\s+/g, ' ')

test('an entry is a sentence with a link to an existing queue', () => {
  const line = shown({ action: 'queue.controls', queue: 'acme-tour', tenant: 'acme', changes: [{ field: 'quota', from: 20, to: 40 }] })
  expect(said(line)).toBe('otto changed controls of acme-tour')
  expect(line.get('a').attributes('href')).toBe('/queues/acme-tour')
  expect(line.get('.change').text()).toMatch(/^quota\s*before: 20\s*→\s*after: 40$/)
})

test('removed queues and the current queue have no link', () => {
  expect(shown({ queue: 'gone' }).find('a').exists()).toBe(false)
  expect(shown({ queue: 'acme-tour' }, true).find('a').exists()).toBe(false)
})

test('unknown actions are shown by their code', () => {
  expect(said(shown({ action: 'queue.paint', tenant: 'acme' }))).toBe('otto queue.paint Acme Live')
  expect(said(shown({ operator: null, action: 'account.sign_in_rejected', subject: 'who' }))).toBe('Unknown user was denied sign-in who')
})

test('many changes are collapsed without empty fields', () => {
  const changes = Array.from({ length: 8 }, (_, index) => ({ field: `field${index}`, from: null, to: index }))
  const line = shown({ changes: [...changes, { field: 'empty', from: null, to: [] }] })
  expect(line.get('summary').text()).toBe('8 fields')
})

test('an added event is one change with times in the chosen zone', () => {
  const sale = { id: 'sale', starts_at: '2027-03-05T10:00:00Z' }
  zone.value = 'Europe/Berlin'
  const line = shown({ changes: [{ field: 'events', from: [sale], to: [{ id: 'now', starts_at: '2027-03-04T10:00:00Z' }, sale] }] })
  expect(line.findAll('.change').map((change) => change.text())).toEqual([expect.stringMatching(/^event now\s*added: id: now · starts_at: 4 Mar 2027, 11:00$/)])
})

test('an entry by a token links to the token’s entries', () => {
  const line = shown({ token: 'a2f4' })
  expect(line.get('a').attributes('href')).toBe('/audit?search=a2f4')
})

test('an entry without a request does not mention one', () => {
  expect(shown({}).get('.meta').text()).toBe('Request r1')
  expect(shown({ request: '', via: 'settings_file' }).get('.meta').text()).toBe('')
})

test('an unknown outcome is shown', () => {
  const line = shown({ action: 'queue.release', queue: 'acme-tour', outcome: 'unknown' })
  expect(line.text()).toContain('may or may not have been applied')
})

test('changes by the settings file are labeled', () => {
  const line = shown({ operator: null, action: 'queue.update', queue: 'acme-tour', via: 'settings_file' })
  expect(line.text()).toMatch(/The settings file\s+changed the settings of/)
})

test('a token’s lifetime is shown in days', () => {
  const line = shown({ action: 'token.create', changes: [{ field: 'expires_in', from: null, to: 7_776_000 }] })
  expect(line.text()).toContain('90')
  expect(line.text()).not.toContain('7776000')
})
