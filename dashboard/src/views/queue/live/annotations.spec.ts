import { enableAutoUnmount, flushPromises } from '@vue/test-utils'
import { afterEach, expect, test } from 'vitest'

import { locale } from '@/i18n'
import type { AuditEvent } from '@/api/types'
import { useStatsStore } from '@/stores/stats'
import { getElement, mountApp } from '@/testing/mount'
import { stats } from '@/testing/fixtures'
import { mockApi } from '@/testing/api'

import HistoryChart from './HistoryChart.vue'
import { annotationsOf } from './annotations'

enableAutoUnmount(afterEach)

const NOW = 1_790_000_000
const entry = (at: number, more: Partial<AuditEvent>): AuditEvent => ({ id: `${at}-0`, at, action: 'queue.controls', operator: 'otto', request: 'r', changes: [], outcome: 'done', via: 'api', ...more })
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

test('annotations are translated and mark unknown outcomes', () => {
  locale.value = 'de'
  expect(annotationsOf([entry(1, { changes: [quota], outcome: 'unknown' })])[0]?.text).toMatch(/^otto: Quote 100 → 150 \(Ausgang unbekannt/)
})

test('changes in the range are listed below the chart', async () => {
  const requests = mockApi({
    'GET /api/v1/queues/acme-tour/history': { step_seconds: 60, columns: [], points: [] },
    'GET /api/v1/audit': ({ line }) => ({ events: line.includes('action=queue.') ? [entry(NOW - 60, { changes: [quota] }), entry(NOW - 90_000, { changes: [quota] })] : [], next: null }),
  })
  const now = stats({ at: NOW })
  useStatsStore().setQueue(now)
  mountApp(HistoryChart, { stats: now })
  await flushPromises()
  expect(requests.map(({ line }) => line)).toContain(`GET /api/v1/audit?queue=acme-tour&action=queue.&from=${NOW - 3600}&limit=200`)
  expect(getElement('details summary').textContent).toBe('1 settings change')
  expect(getElement('details li').textContent).toContain('otto: Quota 100 → 150')
})
