import { flushPromises } from '@vue/test-utils'
import { beforeEach, expect, test, vi } from 'vitest'

import type { QueueEvent, QueueSettings, QueueStats } from '@/api/types'
import { locale, zone } from '@/i18n'
import { usePreferencesStore } from '@/stores/preferences'
import { useStatsStore } from '@/stores/stats'
import { mockApi, problemResponse, type ApiRequest } from '@/testing/api'
import { settings, stats } from '@/testing/fixtures'
import { getElement, mountApp, signInAs } from '@/testing/mount'

import CalendarView from './CalendarView.vue'

/** Thursday, half an hour before the lobby of the club night opens. */
const NOW = Date.parse('2027-03-04T09:00:00Z') / 1000

// Times have a year in another year only.
beforeEach(() => vi.spyOn(Date, 'now').mockReturnValue(NOW * 1000))

const event = (id: string, starts_at: string, ends_at: string, changes: Partial<QueueEvent> = {}): QueueEvent =>
  ({ id, starts_at, ends_at, order: 'arrival', suspended: false, ...changes })

const TOUR = settings({
  mode: 'scheduled',
  events: [
    event('last-year', '2026-03-04T10:00:00Z', '2026-03-04T12:00:00Z', { name: 'Last year' }),
    event('yesterday', '2027-03-03T10:00:00Z', '2027-03-03T12:00:00Z', { name: 'Presale' }),
    event('sale', '2027-03-04T08:00:00Z', '2027-03-04T10:00:00Z', { name: 'Spring sale' }),
    event('next', '2027-03-04T23:30:00Z', '2027-03-05T01:00:00Z', { name: 'Night sale' }),
  ],
})
const CLUB = settings({
  id: 'coral-club', tenant: 'coral', name: 'Club night', mode: 'scheduled',
  events: [event('club', '2027-03-04T10:00:00Z', '2027-03-04T12:00:00Z', { order: 'draw' }), event('off', '2027-04-01T10:00:00Z', '2027-04-01T12:00:00Z', { name: 'Suspended', suspended: true })],
})
const PAUSED = settings({ id: 'coral-paused', tenant: 'coral', name: 'Paused', mode: 'paused', events: [event('sale', '2027-03-06T10:00:00Z', '2027-03-06T12:00:00Z')] })
const ALL = [TOUR, CLUB, PAUSED]
const STATS = [
  stats({ mode: 'scheduled', at: NOW, event: { id: 'sale', phase: 'running', awaits_beacon: false } }),
  stats({ queue: 'coral-club', tenant: 'coral', mode: 'scheduled', at: NOW, event: { id: 'club', phase: 'idle', awaits_beacon: false } }),
  stats({ queue: 'coral-paused', tenant: 'coral', mode: 'paused', at: NOW }),
]

/** Loads stats as the layout does. */
async function load(queues: QueueStats[]): Promise<void> {
  await useStatsStore().loadRecent(new AbortController().signal)
  expect(useStatsStore().queues).toHaveLength(queues.length)
  await flushPromises()
}

async function open(queues: QueueSettings[] = ALL, all: QueueStats[] = STATS): Promise<ApiRequest[]> {
  const requests = mockApi({ 'GET /api/v1/queues': { queues, next: null }, 'GET /api/v1/stats': { queues: all.map((it) => ({ ...it, recent: [] })) } })
  signInAs()
  await load(all)
  mountApp(CalendarView)
  await flushPromises()
  return requests
}

/** The text without the comma that some versions of ICU write after the day of the week. */
const plain = (text: string | null | undefined) => (text ?? '').replaceAll('\u00a0', ' ').replace(/\s+/g, ' ').replace(/^(\w+), (?=\d)/, '$1 ').trim()
const headings = () => [...document.querySelectorAll('h3')].map((it) => plain(it.textContent))
const names = () => [...document.querySelectorAll('.event .name')].map((it) => plain(it.textContent))
const row = (name: string) => plain(getElement('.event', name).textContent)

async function click(selector: string, text = ''): Promise<void> {
  getElement(selector, text).click()
  await flushPromises()
}

async function openPast(): Promise<void> {
  const details = getElement<HTMLDetailsElement>('details.past')
  details.open = true
  details.dispatchEvent(new Event('toggle'))
  await flushPromises()
}

test('current and upcoming events of all queues are grouped by day', async () => {
  await open()
  expect(names()).toEqual(['Spring sale', 'Club night', 'Night sale', 'Paused', 'Suspended'])
  expect(headings()).toEqual(['Thursday 4 March 2027 today', 'Saturday 6 March 2027 in 2 days', 'Thursday 1 April 2027 in 28 days'])
  expect(row('Spring sale')).toMatch(/^08:00 – 10:00 ?Spring sale ?Running ?Ends in 1 h/)
  expect(row('Club night')).toMatch(/Club night ?Upcoming ?Starts in 1 h ?coral · Club night · Draw · Lobby opens 4 Mar, 09:30/)
  expect(row('Night sale')).toMatch(/^23:30 – 5 Mar, 01:00 ?Night sale ?Upcoming ?Starts in 14 h 30 min/)
  expect(row('Suspended')).not.toContain('Starts in')
  expect(getElement('.event', 'Suspended').querySelector('.badge')?.textContent.trim()).toBe('Suspended')
})

test('the time zone is chosen for all times', async () => {
  await open()
  const select = getElement<HTMLSelectElement>('header select')
  expect(select.value).toBe('UTC')
  select.value = 'Europe/Berlin'
  select.dispatchEvent(new Event('change'))
  await flushPromises()
  expect(zone.value).toBe('Europe/Berlin')
  expect(headings().slice(0, 2)).toEqual(['Thursday 4 March 2027 today', 'Friday 5 March 2027 tomorrow'])
  expect(row('Spring sale')).toMatch(/^09:00 – 11:00/)
  expect(row('Night sale')).toMatch(/^00:30 – 02:00/)
  expect(row('Suspended'), 'summer time').toMatch(/^12:00 – 14:00/)
})

test('a queue in another mode does not count down', async () => {
  await open()
  expect(row('Paused')).toContain('Schedule not active')
  expect(row('Paused')).not.toMatch(/Starts in|Upcoming/)
})

test('past events are collapsed and link to their reports', async () => {
  await open()
  expect(getElement('details.past summary').textContent).toBe('Past events (2)')
  expect(document.body.textContent).not.toContain('Presale')
  await openPast()
  expect(names().slice(-2)).toEqual(['Presale', 'Last year'])
  expect(getElement<HTMLAnchorElement>('details a[aria-label="Report: Presale"]').getAttribute('href')).toBe('/queues/acme-tour/events/yesterday/report')
})

test('an event links to the form of its queue', async () => {
  await open()
  const links = (name: string) => [...getElement('.event', name).querySelectorAll('a')].map((link) => link.getAttribute('href'))
  expect(links('Spring sale')).toEqual(['/queues/acme-tour/events', '/queues/acme-tour/events/sale/report', '/queues/acme-tour/events?event=sale'])
  expect(links('Club night'), 'a queue of another tenant').toEqual(['/queues/coral-club/events'])
})

test('the days of a month select their events', async () => {
  await open()
  expect(getElement('.month h2').textContent).toBe('March 2027')
  const days = () => [...document.querySelectorAll('.month button.day')].map((it) => plain(it.getAttribute('aria-label')))
  expect(days()).toEqual(['Wednesday 3 March 2027: 1 event', 'Thursday 4 March 2027: 3 events', 'Saturday 6 March 2027: 1 event'])
  expect(plain(getElement('td[aria-current="date"]').textContent)).toBe('4 3')
  await click('.month [aria-label*="3 March"]')
  expect(names()).toEqual(['Presale'])
  expect(headings()).toEqual(['Wednesday 3 March 2027 yesterday'])
  expect(getElement('.month [aria-pressed="true"]').getAttribute('aria-label')).toContain('3 March')
  await click('button', 'Show all days')
  expect(names()).toHaveLength(5)
  await click('.month [aria-label="Next month"]')
  expect(getElement('.month h2').textContent).toBe('April 2027')
  expect(days()).toEqual(['Thursday 1 April 2027: 1 event'])
})

test('the tenant filter applies, and can be removed', async () => {
  await open()
  await click('.month [aria-label*="3 March"]')
  usePreferencesStore().tenant = 'coral'
  await flushPromises()
  expect(names(), 'the selected day has no event of this tenant').toEqual(['Club night', 'Paused', 'Suspended'])
  expect(document.querySelector('details.past')).toBeNull()
  usePreferencesStore().tenant = 'northern'
  await flushPromises()
  const button = getElement('.empty button', 'Show all tenants')
  // Vue ignores a click in the millisecond in which a button was rendered.
  await vi.waitFor(async () => {
    button.click()
    await flushPromises()
    expect(names()).toEqual(['Presale'])
  })
})

test('overlaps with other queues are shown', async () => {
  const at = (id: string, name: string, start: string, changes: Partial<QueueSettings> = {}) =>
    settings({ id, name, mode: 'scheduled', events: [event('sale', start, '2027-03-05T12:00:00Z')], ...changes })
  await open([at('one', 'One', '2027-03-05T10:00:00Z'), at('two', 'Two', '2027-03-05T10:05:00Z'), at('three', 'Three', '2027-03-05T11:00:00Z')], [])
  expect(row('One')).toContain('Same site at the same time: Two and 1 other event')
  expect(row('One')).toContain('1 other event starts within 5 min of this one.')
  expect(getElement('.event', '11:00').querySelectorAll('.warning')).toHaveLength(1)
})

test('changed settings are reloaded and phases follow the stats', async () => {
  await open()
  const [tour, ...others] = STATS
  const changed = { ...TOUR, revision: 8, events: [event('sale', '2027-03-04T08:00:00Z', '2027-03-04T09:30:00Z', { name: 'Shorter sale' })] }
  const ending = { ...tour!, at: NOW + 2400, revision: 8, event: { id: 'sale', phase: 'ending', awaits_beacon: false } }
  const requests = mockApi({ 'GET /api/v1/queues': { queues: [changed, CLUB, PAUSED], next: null }, 'GET /api/v1/stats': { queues: [ending, ...others].map((it) => ({ ...it, recent: [] })) } })
  await load(STATS)
  expect(names().slice(0, 2)).toEqual(['Shorter sale', 'Club night'])
  expect(row('Shorter sale')).toMatch(/Ending ?Ended at 4 Mar, 09:30\. The line is admitted until it is empty\./)
  expect(row('Club night')).toMatch(/Lobby open ?Starts in 20 min/)
  await load(STATS)
  expect(requests.filter(({ line }) => line.startsWith('GET /api/v1/queues'))).toHaveLength(1)
})

test('a draw counts down to the admissions', async () => {
  const draw = (awaits_beacon: boolean, draw_ends_at: number | null) =>
    [stats({ queue: 'coral-club', mode: 'scheduled', at: NOW + 3610, event: { id: 'club', phase: 'draw', awaits_beacon, draw_ends_at } })]
  await open([CLUB], draw(false, NOW + 3630))
  expect(row('Club night')).toMatch(/Draw ?Admissions begin in 20 s/)
  useStatsStore().setQueue(draw(true, null)[0]!)
  await flushPromises()
  expect(row('Club night')).toContain('The draw waits for the value of its beacon.')
})

test('many events are shown in steps', async () => {
  const sales = Array.from({ length: 60 }, (_, index) => event(`s${index}`, '2027-03-05T10:00:00Z', '2027-03-05T12:00:00Z', { suspended: true }))
  await open([settings({ mode: 'scheduled', events: sales })], [])
  expect(names()).toHaveLength(50)
  await click('button', 'Show more events')
  expect(names()).toHaveLength(60)
})

test('without events the page says where they come from', async () => {
  await open([settings()], [])
  expect(getElement('.empty').textContent).toContain('Events')
})

test('a problem is shown', async () => {
  mockApi({ 'GET /api/v1/queues': problemResponse(503, 'store_unavailable') })
  signInAs()
  mountApp(CalendarView)
  await vi.waitFor(() => expect(getElement('[role=alert]').textContent).toContain('The store is unavailable.'))
})

test('days and phases are translated', async () => {
  locale.value = 'de'
  await open()
  expect(headings()[0]).toBe('Donnerstag 4. März 2027 heute')
  expect(row('Spring sale')).toMatch(/Läuft ?Endet in 1 h/)
})
