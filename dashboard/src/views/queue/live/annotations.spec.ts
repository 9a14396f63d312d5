import { flushPromises } from '@vue/test-utils'
import { expect, test } from 'vitest'

import { locale } from '@/i18n'
import type { AuditEvent, QueueEvent } from '@/api/types'
import { useStatsStore } from '@/stores/stats'
import { getElement, mountApp } from '@/testing/mount'
import { stats } from '@/testing/fixtures'
import { mockApi } from '@/testing/api'

import HistoryChart from './HistoryChart.vue'
import { annotationsOf, phasesOf, readChanges } from './annotations'

const NOW = 1_790_000_000
const entry = (at: number, more: Partial<AuditEvent>): AuditEvent => ({ id: `${at}-0`, at, action: 'queue.controls', operator: 'otto', request: 'r', changes: [], outcome: 'done', via: 'api', ...more })
const QUEUE = { queue: 'acme-tour', name: 'World tour', mode: 'scheduled' } as const
const quota = { field: 'quota', from: 100, to: 150 }

test('annotations show who changed what, oldest first', () => {
  const annotations = annotationsOf([
    entry(30, { changes: [quota] }),
    entry(20, { action: 'queue.release' }),
    entry(15, { action: 'session.end' }),
    entry(10, { action: 'queue.update', operator: null, via: 'settings_file', changes: [{ field: 'handover', from: { kind: 'proxy' }, to: { kind: 'check' } }] }),
  ])
  expect(annotations.map(({ at, text }) => [at, text])).toEqual([
    [10, 'The settings file: handover.kind proxy → check'],
    [20, 'otto: visitors admitted'],
    [30, 'otto: Quota 100 → 150'],
  ])
})

test('annotations show numbers, or values before and after', () => {
  const number = (field: string, to: number) => ({ field, from: null, to })
  const texts = annotationsOf([
    entry(10, { action: 'queue.release', changes: [number('asked', 50), number('released', 10)] }),
    entry(20, { action: 'queue.reset', changes: [{ field: 'epoch', from: 1, to: 2 }, number('waiting', 40), number('active', 5)] }),
    entry(30, { changes: [{ field: 'mode', from: 'open', to: 'paused' }] }),
    entry(40, { changes: [{ field: 'admissions_per_minute', from: null, to: 120 }] }),
    entry(50, { changes: [{ field: 'message', from: null, to: { default: 'Sold out.' } }] }),
  ]).map(({ text }) => text)
  expect(texts).toEqual([
    'otto: 10 visitors admitted',
    'otto: line reset with 40 waiting and 5 active',
    'otto: Mode open → paused',
    'otto: Rate – → 120',
    'otto: message.default – → Sold out.',
  ])
})

test('phases of events that are not suspended are marked', () => {
  const event: QueueEvent = { id: 'sale', name: 'Spring sale', lobby_at: '2027-03-04T09:40:00Z', starts_at: '2027-03-04T10:00:00Z', ends_at: '2027-03-04T14:00:00Z', order: 'arrival', suspended: false }
  const marks = phasesOf([{ ...event, id: 'unnamed', name: undefined, starts_at: '2027-03-05T10:00:00Z', lobby_at: undefined, ends_at: '2027-03-05T12:00:00Z' }, event, { ...event, id: 'none', suspended: true }], QUEUE)
  expect(marks.slice(0, 3).map(({ at, kind, text }) => [new Date(at * 1000).toISOString(), kind, text])).toEqual([
    ['2027-03-04T09:40:00.000Z', 'phase', 'Spring sale: Lobby open'],
    ['2027-03-04T10:00:00.000Z', 'phase', 'Spring sale: Running'],
    ['2027-03-04T14:00:00.000Z', 'phase', 'Spring sale: Ending'],
  ])
  expect(marks).toHaveLength(6)
  expect(marks.at(-1)!.text).toBe('World tour: Ending')
})

test('a draw with a beacon runs from the time of its value on', () => {
  const event: QueueEvent = { id: 'sale', starts_at: '2027-03-04T10:00:00Z', ends_at: '2027-03-04T14:00:00Z', order: 'draw', beacon: 'drand-quicknet', suspended: false }
  const marks = (changed: Partial<QueueEvent>) => phasesOf([{ ...event, ...changed }], QUEUE).map(({ id, at }) => [id, new Date(at * 1000).toISOString()])
  const beacon_value = { randomness: '00', received_at: '2027-03-04T10:05:00Z', round: 1, signature: '00' }
  expect(marks({ beacon_value })).toContainEqual(['sale running', '2027-03-04T10:05:45.000Z'])
  locale.value = 'de'
  expect(phasesOf([event], QUEUE)[0]!.text).toBe('World tour: Vor der Auslosung')
  expect(marks({}).map(([id]) => id), 'nobody is admitted without the value').toEqual(['sale lobby', 'sale draw', 'sale ending'])
})

test('an event has no phases before it was added', () => {
  const event: QueueEvent = { id: 'sale', lobby_at: '2027-03-04T09:40:00Z', starts_at: '2027-03-04T10:00:00Z', ends_at: '2027-03-04T14:00:00Z', order: 'arrival', suspended: false }
  const at = Date.parse('2027-03-04T09:50:00Z') / 1000
  const marks = (changes: AuditEvent[]) => phasesOf([event], QUEUE, changes).map(({ id }) => id)
  const added = { field: 'events', from: null, to: [event] }
  const all = ['sale lobby', 'sale running', 'sale ending']
  expect(marks([entry(at, { action: 'queue.update', changes: [added] })])).toEqual(all.slice(1))
  expect(marks([entry(at, { action: 'queue.update', changes: [{ field: 'events.sale', from: null, to: event }] })]), 'a part of a long list').toEqual(all.slice(1))
  expect(marks([entry(at, { action: 'queue.update', changes: [{ field: 'events.sale.name', from: null, to: 'Sale' }] })])).toEqual(all)
  expect(marks([entry(at, { action: 'queue.create' })])).toEqual(all.slice(1))
  expect(marks([entry(at, { changes: [{ ...added, from: [{ ...event, name: 'Sale' }] }] })]), 'it was there before').toEqual(all)
  expect(marks([entry(at, { changes: [{ ...added, from: '[{"id":"..' }] })]), 'the log has cut the value').toEqual(all)
})

test('phases are marked only while the queue follows its events', () => {
  const event: QueueEvent = { id: 'sale', lobby_at: '2027-03-04T09:40:00Z', starts_at: '2027-03-04T10:00:00Z', ends_at: '2027-03-04T14:00:00Z', order: 'arrival', suspended: false }
  const at = (time: string) => Date.parse(`2027-03-04T${time}Z`) / 1000
  const marks = (mode: 'open' | 'scheduled', ...changes: AuditEvent[]) => phasesOf([event], { ...QUEUE, mode }, changes).map(({ id }) => id)
  const change = (time: string, from: string, to: string) => entry(at(time), { changes: [quota, { field: 'mode', from, to }] })
  expect(marks('open')).toEqual([])
  expect(marks('open', change('13:00:00', 'scheduled', 'open'))).toEqual(['sale lobby', 'sale running'])
  expect(marks('scheduled', change('09:50:00', 'open', 'scheduled'))).toEqual(['sale running', 'sale ending'])
  expect(marks('scheduled', change('13:00:00', 'paused', 'scheduled'), change('09:50:00', 'scheduled', 'paused'))).toEqual(['sale lobby', 'sale ending'])
})

test('changes are read on where a page of the log has found few', async () => {
  const requests = mockApi({
    'GET /api/v1/audit': ({ line }) => (line.includes('before=') || line.includes('settings.') ? { events: [entry(5, {})], next: null } : { events: [], next: '9-0' }),
  })
  expect(await readChanges('acme-tour', 0)).toHaveLength(2)
  expect(requests.map(({ line }) => line)).toContain('GET /api/v1/audit?queue=acme-tour&action=queue.&from=0&limit=200&before=9-0')
})

test('annotations are translated and mark unknown outcomes', () => {
  locale.value = 'de'
  expect(annotationsOf([entry(1, { changes: [quota], outcome: 'unknown' })])[0]?.text).toMatch(/^otto: Quote 100 → 150 \(Ergebnis unbekannt/)
})

test('changes in the range are listed below the chart', async () => {
  const requests = mockApi({
    'GET /api/v1/queues/acme-tour/history': { step_seconds: 60, columns: [], points: [] },
    'GET /api/v1/audit': ({ line }) => ({ events: line.includes('action=queue.') ? [entry(NOW - 60, { changes: [quota] }), entry(NOW - 90_000, { changes: [quota] })] : [], next: null }),
  })
  const now = stats({ at: NOW, mode: 'scheduled' })
  const time = (at: number) => new Date(at * 1000).toISOString()
  const event: QueueEvent = { id: 'sale', name: 'Spring sale', lobby_at: time(NOW - 90), starts_at: time(NOW - 30), ends_at: time(NOW + 600), order: 'arrival', suspended: false }
  useStatsStore().setQueue(now)
  mountApp(HistoryChart, { stats: now, events: [event] })
  await flushPromises()
  expect(requests.map(({ line }) => line)).toContain(`GET /api/v1/audit?queue=acme-tour&action=queue.&from=${NOW - 3600}&limit=200`)
  expect(getElement('details summary').textContent).toBe('3 changes and phases')
  const listed = [...document.querySelectorAll('details li')].map((item) => item.textContent)
  expect(listed.map((text) => text.replace(/^.*\d\d:\d\d /, ''))).toEqual(['Spring sale: Lobby open', 'otto: Quota 100 → 150', 'Spring sale: Running'])
})
