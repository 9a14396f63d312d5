import { flushPromises, type VueWrapper } from '@vue/test-utils'
import { expect, test } from 'vitest'

import type { FieldError } from '@/api/problem'
import type { EventState, QueueEvent, QueueSettings } from '@/api/types'
import { locale, zone } from '@/i18n'
import { useConfirmationStore } from '@/stores/confirmation'
import { useStatsStore } from '@/stores/stats'
import { mockApi, problemResponse, type ApiRequest } from '@/testing/api'
import { settings, stats } from '@/testing/fixtures'
import { getElement, mountApp, signInAs } from '@/testing/mount'

import { provideQueue } from '../useQueue'
import EventsPage from './EventsPage.vue'

const EVENT: QueueEvent = { id: 'sale', name: 'Spring sale', starts_at: '2027-03-04T10:00:00Z', ends_at: '2027-03-04T14:00:00Z', order: 'arrival', suspended: false }

let page: VueWrapper

const DRAW: QueueEvent = { ...EVENT, order: 'draw', salt: 'b7f3a1', key: 's1' }
const COMMITMENT = '58634f96a38bcb2b841e4cc0cbc451f68ca0aae969d79db2e5f60e068012f90d'

/** Responses of the API and stats of a draw in this phase. */
interface Draw {
  phase: string
  tickets: number
  secret?: string
  patch?: (request: ApiRequest) => unknown
  beacon?: Partial<BeaconState>
}

type BeaconState = NonNullable<NonNullable<EventState['draw']>['beacon']>

const BEACON: BeaconState = { status: 'announced', chain: 'abc', round: 37117016, published_at: '2027-03-04T10:00:12Z', address: 'https://api.drand.sh/abc/public/37117016', randomness: null, signature: null, received_at: null }

/** Mounts the page of a queue with an event, at this time. */
async function events(at: string, changes: Partial<QueueSettings> = {}, role: 'operator' | 'viewer' = 'operator', draw?: Draw, warnings: FieldError[] = [], saved?: () => Response, stored?: () => QueueSettings): Promise<ApiRequest[]> {
  zone.value = 'Europe/Berlin'
  const queue = settings({ mode: 'scheduled', events: [EVENT], ...changes })
  const current = draw && { id: 'sale', phase: draw.phase, lobby_tickets: draw.tickets, awaits_beacon: draw.beacon?.status === 'missing' }
  const now = stats({ mode: queue.mode, at: Date.parse(at) / 1000, event: current })
  const requests = mockApi({
    'GET /api/v1/queues/acme-tour': stored ?? queue,
    'GET /api/v1/queues/acme-tour/stats': now,
    'GET /api/v1/queues/acme-tour/events/sale': { id: 'sale', draw: { key: 's1', commitment: COMMITMENT, secret: draw?.secret ?? null, seed: draw?.secret ?? null, beacon: draw?.beacon ? { ...BEACON, ...draw.beacon } : null }, problems: [] },
    'POST /api/v1/queues/acme-tour/events/sale/beacon': { id: 'sale' },
    'GET /api/v1/themes/summer/preview': {},
    'PATCH /api/v1/queues/acme-tour': saved ?? draw?.patch ?? queue,
    'PATCH /api/v1/queues/acme-tour?validate=true': saved ?? { settings: queue, changes: [], warnings },
    'PATCH /api/v1/queues/acme-tour/controls': { ...queue, mode: 'scheduled' },
  })
  signInAs(role)
  useStatsStore().setQueue(now)
  page = mountApp(EventsPage, {}, () => provideQueue(() => 'acme-tour'))
  await flushPromises()
  return requests
}

const changes = (requests: ApiRequest[]) => requests.filter(({ line }) => line.startsWith('PATCH') && !line.includes('validate')).map(({ body }) => body)

async function press(text: string, within = ''): Promise<void> {
  getElement<HTMLButtonElement>(`${within} button`, text).click()
  await flushPromises()
}

async function submit(): Promise<void> {
  getElement<HTMLFormElement>('[role="dialog"] form').requestSubmit()
  await flushPromises()
}

test('an early start is confirmed and keeps the open lobby', async () => {
  const requests = await events('2027-03-04T09:40:00Z')
  expect(page.text()).toContain('Lobby open')
  await press('Start in 1 minute')
  expect(changes(requests)).toEqual([])
  await submit()
  expect(changes(requests)).toEqual([{ events: [{ ...EVENT, lobby_at: '2027-03-04T09:30:00Z', starts_at: '2027-03-04T09:41:00Z', ends_at: '2027-03-04T13:41:00Z' }] }])
})

test('a running event can be ended but not started', async () => {
  const requests = await events('2027-03-04T11:00:00Z')
  expect(page.text()).not.toContain('Start in 1 minute')
  await press('End now')
  await submit()
  expect(changes(requests)).toEqual([{ events: [{ ...EVENT, ends_at: '2027-03-04T11:00:00Z' }] }])
})

test('the form shows UTC beside the local time', async () => {
  const requests = await events('2027-03-04T08:00:00Z')
  await press('Edit')
  const dialog = getElement('[role="dialog"]')
  expect(dialog.textContent).toContain('2027-03-04 10:00 UTC')
  const start = dialog.querySelector<HTMLInputElement>('input[type="datetime-local"]')!
  expect(start.value).toBe('2027-03-04T11:00')
  start.value = '2027-03-04T12:00'
  start.dispatchEvent(new Event('input'))
  await submit()
  expect(changes(requests)).toEqual([{ events: [{ ...EVENT, lobby_at: '2027-03-04T10:30:00Z', starts_at: '2027-03-04T11:00:00Z' }] }])
})

test('an hour that occurs twice keeps its instant in another zone', async () => {
  const event = { ...EVENT, starts_at: '2027-10-31T00:30:00Z', ends_at: '2027-10-31T04:30:00Z' }
  const requests = await events('2027-03-04T08:00:00Z', { events: [event] })
  await press('Edit')
  const dialog = getElement('[role="dialog"]')
  expect(dialog.textContent).toContain('2027-10-31 00:30 UTC')
  expect(dialog.textContent).toContain('this local time occurs twice')
  const zones = dialog.querySelector('select')!
  zones.selectedIndex = [...zones.options].findIndex(({ text }) => text === 'UTC')
  zones.dispatchEvent(new Event('change'))
  await flushPromises()
  expect(dialog.querySelector<HTMLInputElement>('input[type="datetime-local"]')!.value).toBe('2027-10-31T00:30')
  expect(dialog.textContent).not.toContain('twice')
  await submit()
  expect(changes(requests)).toEqual([{ events: [{ ...event, lobby_at: '2027-10-31T00:00:00Z' }] }])
})

test('a link to an event opens its form', async () => {
  await events('2027-03-04T08:00:00Z', { events: [EVENT, { ...EVENT, id: 'next', starts_at: '2027-03-11T10:00:00Z', ends_at: '2027-03-11T14:00:00Z' }] })
  await page.vm.$router.replace({ query: { event: 'next' } })
  await flushPromises()
  expect(getElement('[role="dialog"]').textContent).toContain('Edit event next')
  expect(page.vm.$route.query, 'it does not open again').toEqual({})
})

test.each(['viewer', 'operator'] as const)('a link does not open an event that a %s cannot change', async (role) => {
  await events('2027-03-05T08:00:00Z', role === 'viewer' ? { events: [{ ...EVENT, ends_at: '2027-03-06T10:00:00Z' }] } : {}, role)
  await page.vm.$router.replace({ query: { event: 'sale' } })
  await flushPromises()
  expect(document.querySelector('[role="dialog"]')).toBeNull()
})

test('a late lobby is a warning before it is saved', async () => {
  const late: FieldError = { field: 'events[0].lobby_at', code: 'lobby_soon', detail: 'opens so soon', params: { seconds: 30 } }
  const requests = await events('2027-03-04T08:00:00Z', {}, 'operator', undefined, [late])
  for (const name of ['Edit', 'Start in 1 minute']) {
    await press(name)
    const before = changes(requests).length
    await submit()
    expect(getElement('[role="dialog"] [role="alert"]').textContent).toMatch(/Spring sale, Lobby:\s*opens so soon/)
    expect(changes(requests)).toHaveLength(before)
    await submit()
    expect(changes(requests)).toHaveLength(before + 1)
  }
})

test('the form previews the page before, at and after the start', async () => {
  await events('2027-03-04T08:00:00Z', { theme: 'summer' })
  await press('Edit')
  const details = getElement<HTMLDetailsElement>('[role="dialog"] details')
  details.open = true
  details.dispatchEvent(new Event('toggle'))
  await flushPromises()
  const shown = () => new URL(getElement<HTMLIFrameElement>('[role="dialog"] iframe').src, location.href)
  expect(shown().pathname).toBe('/api/v1/themes/summer/preview')
  expect(Object.fromEntries(shown().searchParams)).toEqual({ state: 'paused', queue: 'acme-tour', language: 'en', event: 'Spring sale', starts_at: EVENT.starts_at, starts_in: '1800' })
  const choose = async (label: string) => {
    getElement('[role="dialog"] label', label).querySelector('input')!.click()
    await flushPromises()
  }
  await choose('At the start')
  expect(shown().searchParams.get('state')).toBe('waiting')
  await choose('After admission')
  expect(shown().searchParams.get('state')).toBe('admitted')
})

test('an inactive schedule can be resumed', async () => {
  const requests = await events('2027-03-04T08:00:00Z', { mode: 'closed' })
  expect(page.text()).toContain('Schedule not active')
  await press('Resume schedule')
  expect(changes(requests)).toEqual([])
  expect(getElement('[role="dialog"]').textContent).toContain('All visitors go straight to the site, including the 0 waiting. No limit applies.')
  expect(getElement('[role="dialog"] button[type="submit"]').classList).toContain('danger')
  await submit()
  expect(changes(requests)).toEqual([{ mode: 'scheduled' }])
})

test('phases follow the clock when other stats do not change', async () => {
  await events('2027-03-04T11:00:00Z', { mode: 'open' })
  const statsStore = useStatsStore()
  const [before] = statsStore.queues
  statsStore.setQueue({ ...before!, at: Date.parse('2027-03-04T15:00:00Z') / 1000 })
  await flushPromises()
  expect(statsStore.queues[0]).toBe(before)
  expect(getElement('.event').textContent).toContain('Over')
  await press('Resume schedule')
  expect(getElement('[role="dialog"]').textContent).toContain('All visitors go straight to the site, including the 0 waiting. No limit applies.')
  expect(getElement('[role="dialog"] button[type="submit"]').classList).toContain('danger')
})

test('suspending or removing the current event says who passes', async () => {
  for (const [action, sent] of [['Suspend', [{ ...EVENT, suspended: true }]], ['Remove', []]] as const) {
    const requests = await events('2027-03-04T11:00:00Z')
    useStatsStore().setQueue({ ...useStatsStore().byId.get('acme-tour')!, waiting: 25 })
    await press(action)
    expect(getElement('[role="dialog"]').textContent).toContain('All visitors go straight to the site, including the 25 waiting. No limit applies.')
    const [cancel, confirm] = [...document.querySelectorAll('[role="dialog"] .actions button')]
    expect([cancel, [...confirm!.classList]]).toEqual([document.activeElement, expect.arrayContaining(['danger'])])
    await submit()
    expect(changes(requests)).toEqual([{ events: sent }])
    page!.unmount()
  }
})

test('suspending an event that is ahead frees nobody', async () => {
  for (const changes of [{}, { between_events: 'closed' as const }]) {
    await events('2027-03-04T08:00:00Z', changes)
    await press('Suspend')
    expect(getElement('[role="dialog"]').textContent).not.toMatch(/straight to the site|No one can join/)
    expect(getElement('[role="dialog"] button[type="submit"]').classList).not.toContain('danger')
    page!.unmount()
  }
})

test('a queue that lets everyone pass between events is confirmed', async () => {
  const requests = await events('2027-03-04T08:00:00Z', { between_events: 'closed' })
  const choose = async (label: string) => {
    getElement('.radios > label', label).querySelector('input')!.click()
    await flushPromises()
  }
  await choose('All visitors continue')
  const { pending } = useConfirmationStore()
  expect([pending?.isDangerous, pending?.body]).toEqual([true, 'All visitors go straight to the site, including the 0 waiting. No limit applies.'])
  pending!.answer(false)
  await flushPromises()
  expect(changes(requests)).toEqual([])
  await choose('All visitors continue')
  useConfirmationStore().pending!.answer(true)
  await flushPromises()
  expect(changes(requests)).toEqual([{ between_events: 'bypass' }])
})

test('an event without effect has no phase and no actions', async () => {
  for (const at of ['2027-03-04T09:40:00Z', '2027-03-04T11:00:00Z']) {
    await events(at, { mode: 'open' })
    expect(getElement('.event').textContent).toContain('Schedule not active')
    expect(getElement('.event').textContent).not.toMatch(/Lobby open(?!s)|Running|Start in 1 minute|End now/)
    page!.unmount()
  }
})

test('viewers see events and change none', async () => {
  await events('2027-03-04T08:00:00Z', {}, 'viewer')
  expect(page.text()).toContain('Spring sale')
  expect(page.findAll('button')).toEqual([])
})

test('an error of the server is shown at its field', async () => {
  const requests = await events('2027-03-04T08:00:00Z', {}, 'operator', undefined, [], () =>
    problemResponse(422, 'validation_failed', {
      errors: [{ field: 'events[1].ends_at', code: 'event_duration', detail: 'must be 60 seconds to 30 days after starts_at' }, { field: 'events[0].lobby_at', code: 'lobby_time', detail: 'must be earlier' }],
    }))
  await press('Add an event')
  await submit()
  expect(changes(requests)).toEqual([])
  const invalid = [...document.querySelectorAll('[role="dialog"] .field.invalid')].map((field) => field.querySelector('label')!.textContent)
  expect(invalid).toEqual(['End'])
  expect(getElement('[role="dialog"] .field.invalid .error').textContent).toContain('60 seconds to 30 days')
  // That of another event is listed.
  expect(getElement('[role="dialog"] [role="alert"]').textContent).toMatch(/Spring sale, Lobby:\s*must be 60 seconds to 24 hours before the start/)
  expect(getElement('[role="dialog"] [role="alert"]').textContent).not.toContain('ends_at')
})

test('an error of a time goes away when a time is corrected', async () => {
  const errors = [{ field: 'events[1].ends_at', code: 'event_duration', detail: 'must be 60 seconds to 30 days after starts_at' }, { field: 'events[1].id', code: 'empty', detail: 'is empty' }]
  await events('2027-03-04T08:00:00Z', {}, 'operator', undefined, [], () => problemResponse(422, 'validation_failed', { errors }))
  await press('Add an event')
  const invalid = () => [...document.querySelectorAll('[role="dialog"] .field.invalid')].map((field) => field.querySelector('label')!.textContent)
  const correct = async () => {
    const [, end] = document.querySelectorAll<HTMLInputElement>('[role="dialog"] input[type="datetime-local"]')
    end!.value = end!.value.replace(/T\d\d/, 'T23')
    end!.dispatchEvent(new Event('input'))
    await flushPromises()
  }
  await submit()
  expect(invalid()).toEqual(['ID', 'End'])
  await correct()
  expect(invalid(), 'the ID is still wrong').toEqual(['ID'])
  await submit()
  expect(invalid(), 'the server says it again').toEqual(['ID', 'End'])
})

test('an error opens its collapsed field, which can be closed', async () => {
  const errors = ['draw_seconds', 'salt', 'key', 'order'].map((name) => ({ field: `events[0].${name}`, code: 'invalid', detail: `wrong ${name}` }))
  await events('2027-03-04T08:00:00Z', { events: [DRAW] }, 'operator', { phase: 'idle', tickets: 0 }, [], () => problemResponse(422, 'validation_failed', { errors }))
  await press('Edit')
  const details = getElement<HTMLDetailsElement>('[role="dialog"] details.advanced')
  expect(details.open).toBe(false)
  await submit()
  expect(details.open).toBe(true)
  const shown = [...document.querySelectorAll('[role="dialog"] .field .error')].map(({ textContent }) => textContent)
  expect(shown).toEqual(['Wrong order.', 'Wrong draw_seconds.', 'Wrong salt.', 'Wrong key.'])
  details.open = false
  details.dispatchEvent(new Event('toggle'))
  await flushPromises()
  expect(details.open).toBe(false)
  await submit()
  expect(details.open).toBe(true)
})

test('errors of fields that the form does not have are listed', async () => {
  const errors = ['suspended', 'salt'].map((name) => ({ field: `events[0].${name}`, code: 'invalid', detail: `wrong ${name}` }))
  await events('2027-03-04T08:00:00Z', {}, 'operator', undefined, [], () => problemResponse(422, 'validation_failed', { errors }))
  await press('Edit')
  await submit()
  const listed = getElement('[role="dialog"] [role="alert"]').textContent
  for (const name of ['suspended', 'salt']) expect(listed).toContain(`wrong ${name}`)
})

test('repetitions are limited to the events of a queue', async () => {
  const requests = await events('2027-03-04T08:00:00Z', { events: [] })
  await press('Add an event')
  const times = getElement('[role="dialog"] .field', 'Repeat weekly').querySelector('input')!
  for (const [typed, error] of [['52', 'Enter a whole number from 1 to 50.'], ['0', 'Enter a whole number from 1 to 50.'], ['2', undefined]]) {
    times.value = typed!
    times.dispatchEvent(new Event('input'))
    await flushPromises()
    await submit()
    expect(document.querySelector('[role="dialog"] .field.invalid .error')?.textContent).toBe(error)
  }
  expect((changes(requests)[0] as { events: QueueEvent[] }).events).toHaveLength(2)
})

test('an event that cannot be resumed says why', async () => {
  const errors = [{ field: 'events[0].lobby_at', code: 'event_too_early', detail: 'must be at least 15 minutes after the end of another event' }]
  await events('2027-03-04T08:00:00Z', { events: [{ ...EVENT, suspended: true }] }, 'operator', undefined, [], () => problemResponse(422, 'validation_failed', { errors }))
  await press('Resume event')
  expect(page.find('[role="alert"]').text()).toMatch(/Spring sale, Lobby:\s*must be at least 15 minutes after/)
})

test('a time to postpone by that cannot be read is not sent', async () => {
  const requests = await events('2027-03-04T08:00:00Z')
  await press('Postpone')
  const minutes = getElement('[role="dialog"] .field', 'Postpone by').querySelector('input')!
  minutes.value = '10 min'
  minutes.dispatchEvent(new Event('input'))
  await flushPromises()
  await submit()
  expect(changes(requests)).toEqual([])
  expect(getElement('[role="dialog"] .field.invalid .error').textContent).toBe('Enter a whole number, 0 or more.')
})

test('the form says that an event in the past does not take place', async () => {
  await events('2027-03-04T08:00:00Z')
  await press('Edit')
  expect(getElement('[role="dialog"]').textContent).not.toContain('in the past')
  const [, end] = document.querySelectorAll<HTMLInputElement>('[role="dialog"] input[type="datetime-local"]')
  end!.value = '2020-03-04T12:00'
  end!.dispatchEvent(new Event('input'))
  await flushPromises()
  expect(getElement('[role="dialog"] .warn').textContent).toBe('The end is in the past, so this event does not take place.')
})

test('the form does not say so while its line is still admitted', async () => {
  const ending = { ...EVENT, starts_at: '2020-03-04T10:00:00Z', ends_at: '2020-03-04T14:00:00Z' }
  await events('2020-03-04T14:05:00Z', { events: [ending] }, 'operator', { phase: 'ending', tickets: 0 })
  await press('Edit')
  expect(getElement('[role="dialog"]').textContent).not.toContain('in the past')
  await type('End', '2020-03-04T14:30')
  expect(getElement('[role="dialog"]').textContent).toContain('in the past')
  await type('End', '2020-03-04T16:00')
  expect(getElement('[role="dialog"]').textContent, 'the time of the store counts').not.toContain('in the past')
})

test('numbers that cannot be read are not sent', async () => {
  const requests = await events('2027-03-04T08:00:00Z')
  await press('Add an event')
  const lobby = getElement('[role="dialog"] .field', 'Lobby').querySelector('input')!
  lobby.value = 'half an hour'
  lobby.dispatchEvent(new Event('input'))
  await flushPromises()
  await submit()
  expect(changes(requests)).toEqual([])
  expect(getElement('[role="dialog"] .field.invalid .error').textContent).toBe('Enter a whole number, 0 or more.')
})

test('an invalid draw duration is shown only with a draw', async () => {
  const requests = await events('2027-03-04T08:00:00Z', { events: [DRAW] }, 'operator', { phase: 'idle', tickets: 0 })
  await press('Edit')
  const seconds = getElement('[role="dialog"] .field', 'Duration of the draw').querySelector('input')!
  seconds.value = 'long'
  seconds.dispatchEvent(new Event('input'))
  await flushPromises()
  await submit()
  expect(changes(requests)).toEqual([])
  expect(getElement<HTMLDetailsElement>('[role="dialog"] details.advanced').open).toBe(true)
  const order = [...getElement('[role="dialog"]').querySelectorAll('select')].find(({ value }) => value === 'draw')!
  order.selectedIndex = 1
  order.dispatchEvent(new Event('change'))
  await flushPromises()
  await submit()
  expect(changes(requests)).toHaveLength(1)
})

test('the ID of a new event follows its name until it is edited', async () => {
  const requests = await events('2027-03-04T08:00:00Z')
  await press('Add an event')
  await type('Name', 'Größter Verkauf 2027')
  expect(field('ID').value).toBe('groesster-verkauf-2027')
  await submit()
  expect(JSON.stringify(changes(requests))).toContain('"id":"groesster-verkauf-2027"')
  await press('Add an event')
  await type('ID', 'summer')
  await type('Name', 'Another name')
  expect(field('ID').value).toBe('summer')
})

test('a new event is drawn with a salt of its own', async () => {
  const requests = await events('2027-03-04T08:00:00Z', { events: [] })
  await press('Add an event')
  const id = getElement('[role="dialog"]').querySelector('input')!
  id.value = 'sale'
  id.dispatchEvent(new Event('input'))
  await submit()
  const [created] = (changes(requests)[0] as { events: QueueEvent[] }).events
  expect(created).toMatchObject({ id: 'sale', order: 'draw' })
  expect(created!.salt).toMatch(/^[0-9a-f]{16}$/)
  expect(created).not.toHaveProperty('key')
})

test('an event in order of arrival has no fields of a draw', async () => {
  const requests = await events('2027-03-04T08:00:00Z', { events: [DRAW] }, 'operator', { phase: 'idle', tickets: 0 })
  await press('Edit')
  const order = [...getElement('[role="dialog"]').querySelectorAll('select')].find(({ value }) => value === 'draw')!
  order.selectedIndex = 1
  order.dispatchEvent(new Event('change'))
  await flushPromises()
  await submit()
  expect(changes(requests)).toEqual([{ events: [{ ...EVENT, lobby_at: '2027-03-04T09:30:00Z' }] }])
})

test('German does not call lobby visitors a line', async () => {
  for (const [event, texts] of [[DRAW, ['Vor der Auslosung', 'Teilnahme ab']], [EVENT, ['Besucher stellen sich an', 'Anstehen ab']]] as const) {
    locale.value = 'de'
    await events('2027-03-04T09:40:00Z', { events: [event] }, 'viewer')
    for (const text of texts) expect(getElement('.event').textContent).toContain(text)
    page!.unmount()
  }
})

test('the lobby shows tickets, commitment and a fast start', async () => {
  await events('2027-03-04T09:40:00Z', { events: [DRAW] }, 'viewer', { phase: 'lobby', tickets: 2_000_000 })
  for (const text of [COMMITMENT, '2,000,000', 'About 100,000 requests per second', 'Set a draw of 50 seconds']) expect(page.text()).toContain(text)
  expect(page.text()).not.toContain('verify-draw')
})

test('functions answer fewer requests at the start', async () => {
  useStatsStore().canStream = false
  await events('2027-03-04T09:40:00Z', { events: [DRAW] }, 'viewer', { phase: 'lobby', tickets: 500_000 })
  expect(page.text()).toContain('Functions should get at most 20,000. Set a draw of 38 seconds')
})

test('the proof is shown after the draw', async () => {
  await events('2027-03-04T10:00:10Z', { events: [DRAW] }, 'viewer', { phase: 'draw', tickets: 3, secret: 'eadb926a' })
  expect(page.text()).toContain('eadb926a')
  expect(page.text()).toContain('vestibule verify-draw "https://tickets.example.com/_vestibule/line?queue=acme-tour"')
})

test('suspending an event with lobby tickets is confirmed', async () => {
  const asked = () => problemResponse(428, 'confirmation_required', { confirmation: { token: 'abc', expires_in: 120, consequence: '1200 visitors are in the lobby.', message: { code: 'will_void_lobby_tickets', params: { tickets: 1200, event: 'sale' } } } })
  const patch = (request: ApiRequest) => (request.headers.get('x-vestibule-confirm') === 'abc' ? settings({ mode: 'scheduled', events: [{ ...DRAW, suspended: true }] }) : asked())
  const requests = await events('2027-03-04T09:40:00Z', { events: [DRAW] }, 'operator', { phase: 'lobby', tickets: 1200, patch })
  await press('Suspend')
  expect(changes(requests)).toEqual([])
  await submit()
  expect(getElement('[role="dialog"]').textContent).toContain('1200 visitors are in the lobby.')
  await submit()
  expect(changes(requests)).toHaveLength(2)
  expect(page.text()).toContain('Suspended')
})

test('the round of a beacon is named in advance', async () => {
  await events('2027-03-04T09:40:00Z', { events: [{ ...DRAW, beacon: 'drand-quicknet' }] }, 'operator', { phase: 'lobby', tickets: 3, beacon: {} })
  const link = getElement<HTMLAnchorElement>('a', '37,117,016')
  expect([link.getAttribute('href'), link.rel]).toEqual([BEACON.address, 'noreferrer'])
  expect(page.text()).toContain('drand quicknet, not published yet')
  expect(page.text()).not.toContain('Record the value')
})

test('a missing value is recorded from what the relay answers', async () => {
  const requests = await events('2027-03-04T10:05:00Z', { events: [{ ...DRAW, beacon: 'drand-quicknet' }] }, 'operator', { phase: 'draw', tickets: 3, beacon: { status: 'missing' } })
  expect(page.text()).toContain('Nobody is admitted until it is recorded.')
  await page.find('form input').setValue('{"round":37117016,"signature":"00ff"}')
  await page.find('form').trigger('submit')
  await flushPromises()
  const sent = requests.filter(({ line }) => line.startsWith('POST'))
  expect(sent.map(({ line, body }) => [line, body])).toEqual([['POST /api/v1/queues/acme-tour/events/sale/beacon', { round: 37117016, signature: '00ff' }]])
})

test('viewers see that a value is missing and cannot record it', async () => {
  await events('2027-03-04T10:05:00Z', { events: [{ ...DRAW, beacon: 'drand-quicknet' }] }, 'viewer', { phase: 'draw', tickets: 3, beacon: { status: 'missing' } })
  expect(page.text()).toContain('The value of the beacon is missing')
  expect(page.find('form').exists()).toBe(false)
})

test('a beacon is selected, and removed after confirmation', async () => {
  const confirmation = { token: 'once', expires_in: 120, consequence: 'The order is drawn without its beacon.', message: { code: 'will_remove_beacon', params: {} } }
  const patch = ({ headers }: ApiRequest) => (headers.has('x-vestibule-confirm') ? settings() : problemResponse(428, 'confirmation_required', { confirmation }))
  const requests = await events('2027-03-04T10:05:00Z', { events: [{ ...DRAW, beacon: 'drand-quicknet' }] }, 'operator', { phase: 'draw', tickets: 3, beacon: { status: 'missing' }, patch })
  await press('Edit')
  const select = [...document.querySelectorAll<HTMLSelectElement>('[role="dialog"] select')].find(({ value }) => value === 'drand-quicknet')!
  select.value = ''
  select.dispatchEvent(new Event('change'))
  await submit()
  expect(getElement('[role="dialog"]').textContent).toContain('Draw the order without the beacon?')
  await submit()
  const sent = changes(requests) as { events: QueueEvent[] }[]
  expect(sent.map(({ events: [event] }) => event?.beacon)).toEqual([undefined, undefined])
})

test('a dialog does not undo a change of another operator', async () => {
  const queue = settings({ mode: 'scheduled', events: [EVENT], revision: 7 })
  const current = { ...queue, events: [{ ...EVENT, ends_at: '2027-03-04T18:00:00Z' }], revision: 8 }
  const confirmation = { token: 'abc', expires_in: 120, consequence: 'Tickets become invalid.', message: { code: 'will_void_lobby_tickets', params: { tickets: 1200, event: 'sale' } } }
  const conflict = () => problemResponse(412, 'revision_conflict', { params: { revision: 8 }, conflict: { current } })
  for (const [name, isVoiding] of [['Postpone', false], ['Remove', false], ['Postpone', true]] as const) {
    let stored = queue
    const answers = isVoiding ? [problemResponse(428, 'confirmation_required', { confirmation }), conflict()] : [conflict()]
    const saved = () => answers.shift()!
    const requests = await events('2027-03-04T08:00:00Z', { revision: 7 }, 'operator', undefined, [], saved, () => stored)
    await press(name)
    if (isVoiding) await submit()
    stored = current
    useStatsStore().setQueue(stats({ mode: 'scheduled', revision: 8 }))
    await flushPromises()
    await submit()
    const sent = requests.filter(({ line }) => line.startsWith('PATCH'))
    expect(new Set(sent.map(({ headers }) => headers.get('if-match')))).toEqual(new Set(['"7"']))
    expect(getElement('[role="dialog"] [role="alert"]').textContent).toContain('Changed by someone else.')
    page.unmount()
  }
})

const conflictWith = (current: QueueSettings) => problemResponse(412, 'revision_conflict', { params: { revision: current.revision }, conflict: { current } })
const field = (label: string) => document.getElementById(getElement<HTMLLabelElement>('[role="dialog"] .field > label', label).htmlFor) as HTMLInputElement
async function type(label: string, text: string): Promise<void> {
  field(label).value = text
  field(label).dispatchEvent(new Event('input'))
  await flushPromises()
}

test('suspend and remove are not repeated if their effect changed', async () => {
  const queue = settings({ mode: 'scheduled', between_events: 'closed', events: [EVENT], revision: 7 })
  for (const [action, changed, isSent] of [['Suspend', { between_events: 'bypass' }, false], ['Remove', { between_events: 'bypass' }, false], ['Remove', { mode: 'open' }, false], ['Remove', { quota: 5 }, true]] as const) {
    const current = { ...queue, ...changed, revision: 8 }
    const answers = [conflictWith(current), Response.json(current)]
    const requests = await events('2027-03-04T11:00:00Z', { between_events: 'closed', revision: 7 }, 'operator', undefined, [], () => answers.shift()!)
    await press(action)
    await submit()
    expect(requests.filter(({ line }) => line.startsWith('PATCH')).map(({ headers }) => headers.get('if-match'))).toEqual(isSent ? ['"7"', '"8"'] : ['"7"'])
    if (!isSent) expect(getElement('[role="dialog"] [role="alert"]').textContent).toContain('Changed by someone else.')
    page.unmount()
  }
})

test('a form is saved after someone else changed something else', async () => {
  const queue = settings({ mode: 'scheduled', events: [EVENT], revision: 7 })
  const other = { ...EVENT, id: 'other', name: 'Other sale' }
  const current = { ...queue, quota: 5, events: [EVENT, other], revision: 8 }
  for (const [name, saved] of [['Add an event', [EVENT, other, expect.objectContaining({ id: 'new' })]], ['Edit', [expect.objectContaining({ id: 'sale', name: 'New' }), other]]] as const) {
    const answers = [conflictWith(current), Response.json({ settings: current, changes: [], warnings: [] }), Response.json(current)]
    const requests = await events('2027-03-04T08:00:00Z', { revision: 7 }, 'operator', undefined, [], () => answers.shift()!)
    await press(name)
    await type(name === 'Edit' ? 'Name' : 'ID', 'New'.toLowerCase())
    if (name === 'Edit') await type('Name', 'New')
    await submit()
    expect(document.querySelector('[role="dialog"]')).toBeNull()
    expect(requests.filter(({ line }) => line.startsWith('PATCH')).map(({ headers }) => headers.get('if-match'))).toEqual(['"7"', '"8"', '"8"'])
    expect(changes(requests)).toEqual([{ events: saved }])
    page!.unmount()
  }
})

test('errors stay at their event after others added events', async () => {
  const current = settings({ mode: 'scheduled', events: [EVENT, { ...EVENT, id: 'other' }], revision: 8 })
  const errors = [{ field: 'events[2].id', code: 'invalid', detail: 'wrong ID' }]
  const answers = [conflictWith(current), problemResponse(422, 'validation_failed', { errors })]
  await events('2027-03-04T08:00:00Z', { revision: 7 }, 'operator', undefined, [], () => answers.shift()!)
  await press('Add an event')
  await submit()
  expect(getElement('[role="dialog"] .field.invalid .error').textContent).toBe('Wrong ID.')
})

test('an event that someone else changed as well is merged', async () => {
  const queue = settings({ mode: 'scheduled', events: [EVENT], revision: 7 })
  const current = { ...queue, events: [{ ...EVENT, name: 'Theirs', ends_at: '2027-03-04T18:00:00Z' }], revision: 8 }
  const answers = [conflictWith(current), conflictWith(current), Response.json({ settings: current, changes: [], warnings: [] }), Response.json(current)]
  const requests = await events('2027-03-04T08:00:00Z', { revision: 7 }, 'operator', undefined, [], () => answers.shift()!)
  await press('Edit')
  await type('Name', 'Mine')
  await submit()
  expect(getElement('[role="dialog"]').textContent).toMatch(/This queue was changed by someone else.*Name.*Theirs.*Mine.*End.*19:00/)
  await press('Back to the form')
  expect([field('Name').value, field('End').value]).toEqual(['Mine', '2027-03-04T15:00'])
  await submit()
  getElement('[role="dialog"] .choices label', 'Mine').querySelector('input')!.click()
  await flushPromises()
  await press('Continue', '[role="dialog"]')
  expect([field('Name').value, field('End').value]).toEqual(['Mine', '2027-03-04T19:00'])
  await submit()
  expect(requests.filter(({ line }) => line.startsWith('PATCH')).map(({ headers }) => headers.get('if-match'))).toEqual(['"7"', '"7"', '"8"', '"8"'])
  expect(changes(requests)).toEqual([{ events: [{ ...current.events[0], name: 'Mine', lobby_at: '2027-03-04T09:30:00Z' }] }])
})

test('an error of the server goes away with the next attempt', async () => {
  const errors = [{ field: 'events[1].id', code: 'empty', detail: 'is empty' }]
  await events('2027-03-04T08:00:00Z', {}, 'operator', undefined, [], () => problemResponse(422, 'validation_failed', { errors }))
  await press('Add an event')
  await submit()
  await type('ID', 'sale-2')
  await type('Lobby', 'soon')
  await submit()
  expect([...document.querySelectorAll('[role="dialog"] .field .error')].map(({ textContent }) => textContent)).toEqual(['Enter a whole number, 0 or more.'])
})
