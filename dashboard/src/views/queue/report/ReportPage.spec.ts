import { flushPromises } from '@vue/test-utils'
import { expect, test } from 'vitest'

import type { QueueEvent, QueueReport } from '@/api/types'
import { locale } from '@/i18n'
import { useStatsStore } from '@/stores/stats'
import { mockApi, problemResponse, type ApiRequest } from '@/testing/api'
import { report, settings, stats } from '@/testing/fixtures'
import { getElement, mountApp, signInAs } from '@/testing/mount'

import { provideQueue } from '../useQueue'
import ReportPage from './ReportPage.vue'

const EVENT: QueueEvent = { id: 'sale', name: 'Spring sale', starts_at: '2027-03-04T10:00:00Z', ends_at: '2027-03-04T14:00:00Z', order: 'arrival', suspended: false }
const START = Date.parse(EVENT.starts_at) / 1000

const POINTS: (number | null)[][] = [[START, 800, 50, 100, 300, 60], [START + 60, 900, 100, 100, 160, 90]]

/** Mounts the report of the event, or of the queue, as a viewer. */
async function show(event: string | undefined, answer: QueueReport | Response, points = POINTS): Promise<ApiRequest[]> {
  const requests = mockApi({
    'GET /api/v1/queues/acme-tour': settings({ events: [EVENT] }),
    'GET /api/v1/queues/acme-tour/report': answer,
    'GET /api/v1/queues/acme-tour/events/sale/report': answer,
    'GET /api/v1/queues/acme-tour/history': { step_seconds: 60, columns: [], points },
  })
  signInAs('viewer')
  const now = stats({ at: START + 14_700 })
  useStatsStore().setQueue(now)
  mountApp(ReportPage, { event }, () => provideQueue(() => 'acme-tour'))
  await flushPromises()
  return requests
}

const row = (text: string) => [...getElement('tbody tr', text).querySelectorAll('td')].map((cell) => cell.textContent).filter(Boolean)

test('the report shows the funnel, the waits and the peaks', async () => {
  const requests = await show('sale', report())
  expect(getElement('h2').textContent).toBe('Report: Spring sale')
  expect(row('Joined')).toEqual(['2,000', '100%'])
  expect(row('Admitted')).toEqual(['1,500', '75%'])
  expect(row('1\u00a0s to 1\u00a0min')).toEqual(['300', '20%'])
  expect(row('over 10\u00a0min')).toEqual(['300', '20%'])
  expect(row('Waiting visitors')[0]).toBe('900')
  expect(row('Arrivals per minute')[0]).toBe('300')
  expect(row('Free slots')[0]).toBe('25%')
  expect(document.querySelectorAll('[role="alert"], .alert')).toHaveLength(0)
  expect(getElement<HTMLAnchorElement>('a[download]').getAttribute('href')).toBe('/api/v1/queues/acme-tour/events/sale/report?format=csv')
  // One step before the counted time: a point has the time of the beginning of its minute.
  const from = Date.parse('2027-03-04T09:29:10Z') / 1000 - 300
  expect(requests.map(({ line }) => line)).toContain(`GET /api/v1/queues/acme-tour/history?step=minute&from=${from}`)
})

test('a peak that is not known is not 0', async () => {
  await show('sale', report(), [[START, 800, 50, 100, null, null]])
  expect(row('Waiting visitors')[0]).toBe('800')
  expect(row('Arrivals per minute')).toEqual(['–', '–'])
})

test('an incomplete report says so', async () => {
  locale.value = 'de'
  await show('sale', report({ complete: false }))
  expect(document.body.textContent).toContain('Diese Zahlen sind unvollständig')
})

test('without events, totals since the state began are shown', async () => {
  await show(undefined, report({ event: null }))
  expect(getElement('h2').textContent).toBe('Totals since the queue began')
  expect(getElement<HTMLAnchorElement>('a[download]').getAttribute('href')).toBe('/api/v1/queues/acme-tour/report?format=csv')
})

test('an event without a report explains why', async () => {
  await show('sale', problemResponse(409, 'no_report', { detail: 'This event has no report.' }))
  expect(document.body.textContent).toContain('This event has no report.')
  expect(document.querySelector('table')).toBeNull()
})
