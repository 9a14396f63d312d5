import { flushPromises, type VueWrapper } from '@vue/test-utils'
import { expect, test, vi } from 'vitest'

import type { InvitationBatch, QueueSettings } from '@/api/types'
import { zone } from '@/i18n'
import { useConfirmationStore } from '@/stores/confirmation'
import { useStatsStore } from '@/stores/stats'
import { mockApi, problemResponse, type ApiRequest } from '@/testing/api'
import { settings, stats } from '@/testing/fixtures'
import { getElement, mountApp, signInAs } from '@/testing/mount'

import { provideQueue } from '../useQueue'
import InvitationsPage from './InvitationsPage.vue'

const FANS: InvitationBatch = { number: 7, id: 'fans', name: 'Fan club', head_start: 600, count: 250_000, key: 's1', revoked: false }

let page: VueWrapper

async function invitations(changes: Partial<QueueSettings> = {}, role: 'operator' | 'viewer' = 'operator', saved?: () => Response, stored?: () => QueueSettings, missing: string[] = []): Promise<ApiRequest[]> {
  zone.value = 'Europe/Berlin'
  const queue = settings({ invitations: [FANS], ...changes })
  const now = stats({ at: Date.parse('2027-03-04T10:00:00Z') / 1000 })
  const requests = mockApi({
    'GET /api/v1/queues/acme-tour': stored ?? queue,
    'GET /api/v1/queues/acme-tour/stats': now,
    'GET /api/v1/queues/acme-tour/invitations': {
      invitations: (queue.invitations ?? []).map(({ number, id, key = '' }) => ({ number, id, key, problems: missing.includes(key) ? [{ code: 'sale_key_missing', params: { key } }] : [] })),
    },
    'PATCH /api/v1/queues/acme-tour': saved ?? queue,
  })
  signInAs(role)
  useStatsStore().setQueue(now)
  page = mountApp(InvitationsPage, {}, () => provideQueue(() => 'acme-tour'))
  await flushPromises()
  return requests
}

const changes = (requests: ApiRequest[]) => requests.filter(({ line }) => line.startsWith('PATCH')).map(({ body }) => body)

async function press(text: string): Promise<void> {
  getElement<HTMLButtonElement>('button', text).click()
  await flushPromises()
}

/** Chooses who can join, and answers the question about it. */
async function choose(label: string, isConfirmed = true): Promise<void> {
  getElement('label', label).querySelector('input')!.click()
  await flushPromises()
  useConfirmationStore().pending!.answer(isConfirmed)
  await flushPromises()
}

async function submit(): Promise<void> {
  getElement<HTMLFormElement>('[role="dialog"] form').requestSubmit()
  await flushPromises()
}

async function type(label: string, text: string): Promise<void> {
  const id = getElement<HTMLLabelElement>('[role="dialog"] label', label).htmlFor
  const input = document.getElementById(id) as HTMLInputElement
  input.value = text
  input.dispatchEvent(new Event('input'))
  await flushPromises()
}

test('a batch is shown with its head start and state', async () => {
  await invitations({ invitations: [FANS, { ...FANS, number: 8, id: 'late', until: '2027-03-04T09:00:00Z' }, { ...FANS, number: 9, id: 'soon', from: '2027-03-05T09:00:00Z' }] })
  const text = page.text()
  for (const shown of ['Fan club', '600 s', '250,000', 'Valid', 'Expired', 'Not yet valid']) expect(text).toContain(shown)
})

test('a batch whose sale key is missing is not valid', async () => {
  await invitations({ access: 'invited' }, 'viewer', undefined, undefined, ['s1'])
  const text = page.text()
  for (const shown of ['Codes not accepted', 'does not know the sale key “s1”', 'Nobody can join']) expect(text).toContain(shown)
  expect(text).not.toContain('Valid')
})

test('a batch is not said to be valid while its key is not known', async () => {
  mockApi({
    'GET /api/v1/queues/acme-tour': settings({ access: 'invited', invitations: [FANS] }),
    'GET /api/v1/queues/acme-tour/stats': stats(),
    'GET /api/v1/queues/acme-tour/invitations': () => problemResponse(500, 'internal'),
  })
  signInAs('viewer')
  page = mountApp(InvitationsPage, {}, () => provideQueue(() => 'acme-tour'))
  await flushPromises()
  expect(page.find('.batch .badge').exists()).toBe(false)
  expect(page.text()).not.toContain('Nobody can join')
  await vi.waitFor(() => expect(page.find('[role="alert"], .alert').exists()).toBe(true), { timeout: 10_000 })
}, 15_000)

test('a batch is revoked after a confirmation and restored', async () => {
  const requests = await invitations()
  await press('Revoke batch')
  expect(changes(requests)).toEqual([])
  await submit()
  expect(changes(requests)).toEqual([{ invitations: [{ ...FANS, revoked: true }] }])
})

test('a new batch gets the next number', async () => {
  const requests = await invitations()
  await press('Add batch')
  await type('ID', 'press')
  await type('Head start', '60')
  await type('Codes', '20')
  await type('Valid until', '2027-03-05T12:00')
  await submit()
  const added = { number: 8, id: 'press', head_start: 60, count: 20, revoked: false, until: '2027-03-05T11:00:00Z' }
  expect(changes(requests)).toEqual([{ invitations: [FANS, added] }])
})

test('the ID of a new batch follows its name', async () => {
  const requests = await invitations({ invitations: [] })
  await press('Add batch')
  await type('Name', 'Fan club Köln')
  await type('Codes', '20')
  await submit()
  expect(changes(requests)).toMatchObject([{ invitations: [{ id: 'fan-club-koeln', name: 'Fan club Köln' }] }])
})

test('a time that is half typed is rejected, not left out', async () => {
  const requests = await invitations()
  await press('Add batch')
  await type('ID', 'press')
  await type('Codes', '20')
  const until = document.getElementById(getElement<HTMLLabelElement>('[role="dialog"] label', 'Valid until').htmlFor) as HTMLInputElement
  const typed = vi.spyOn(until, 'validity', 'get').mockReturnValue({ ...until.validity, badInput: true })
  await submit()
  expect(changes(requests)).toEqual([])
  expect(getElement('[role="dialog"] .error').textContent).toBe('Enter a date and a time.')
  typed.mockRestore()
  await submit()
  expect(changes(requests)).toMatchObject([{ invitations: [FANS, { id: 'press' }] }])
})

test('a new batch gets another number after one was removed', async () => {
  const errors = [{ field: 'invitations[1].number', code: 'batch_number_taken', detail: 'is already used by another batch of the queue: 7', params: { number: 7 } }]
  const requests = await invitations({}, 'operator', () => problemResponse(422, 'validation_failed', { errors }))
  await press('Add batch')
  expect(getElement('[role="dialog"]').textContent).toContain('codes sent for that batch become valid again')
  await type('ID', 'press')
  await type('Batch number', '')
  await submit()
  expect(changes(requests)).toEqual([])
  expect(getElement('[role="dialog"] .error').textContent).toBe('Enter a whole number, 0 or more.')
  await type('Batch number', '12')
  await submit()
  expect(changes(requests)).toMatchObject([{ invitations: [FANS, { number: 12, id: 'press' }] }])
  expect(getElement('[role="dialog"] .error').textContent).toContain('already used by another batch')
})

test('errors of fields that the form does not have are listed', async () => {
  const errors = [{ field: 'invitations[1].key', code: 'no_sale_keys_to_invite', detail: 'invitations need a sale key: set VESTIBULE_SALE_KEYS' }]
  await invitations({}, 'operator', () => problemResponse(422, 'validation_failed', { errors }))
  await press('Add batch')
  await type('ID', 'press')
  await submit()
  expect(getElement('[role="dialog"] [role="alert"]').textContent).toContain('set VESTIBULE_SALE_KEYS')
})

test('a batch that cannot be restored says why', async () => {
  const errors = [{ field: 'invitations[0].key', code: 'unknown_sale_key', detail: 'is not one of the sale keys: s2', params: { known: 's2' } }]
  await invitations({ invitations: [{ ...FANS, revoked: true }] }, 'operator', () => problemResponse(422, 'validation_failed', { errors }))
  await press('Restore batch')
  expect(page.find('[role="alert"]').text()).toContain('invitations[1].key is not one of the sale keys: s2')
})

test('errors are shown at their field', async () => {
  const errors = [{ field: 'invitations[1].id', code: 'batch_id_taken', detail: 'is already used by another batch of the queue: "fans"', params: { id: 'fans' } }]
  await invitations({}, 'operator', () => problemResponse(422, 'validation_failed', { errors }))
  await press('Add batch')
  await type('ID', 'fans')
  await submit()
  expect(getElement('[role="dialog"]').textContent).toContain('already used by another batch')
})

test('codes are downloaded in parts', async () => {
  await invitations({ invitations: [{ ...FANS, count: 12_000 }] })
  await press('Download codes')
  const links = [...document.querySelectorAll<HTMLAnchorElement>('[role="dialog"] a[download]')].map((link) => link.getAttribute('href'))
  const base = '/api/v1/queues/acme-tour/invitations/fans/codes'
  expect(links).toEqual([`${base}?from=1&count=5000`, `${base}?from=5001&count=5000`, `${base}?from=10001&count=2000`])
})

test('invited-only access without a valid batch is a warning', async () => {
  const requests = await invitations({ access: 'invited', invitations: [{ ...FANS, revoked: true }] })
  expect(page.text()).toContain('Nobody can join')
  await choose('Anyone')
  expect(changes(requests)).toEqual([{ access: 'anyone' }])
})

test('who can join is changed after a confirmation', async () => {
  const asked = async (label: string) => {
    getElement('label', label).querySelector('input')!.click()
    await flushPromises()
    return useConfirmationStore().pending?.body
  }
  const requests = await invitations()
  expect(await asked('Invited visitors only')).toBe('Newcomers without a valid code see a page that asks for one. Visitors in line keep their positions.')
  await choose('Invited visitors only', false)
  expect(changes(requests)).toEqual([])
  expect(getElement('fieldset.radios label:has(:checked) strong').textContent).toBe('Anyone')
  await choose('Invited visitors only')
  expect(changes(requests)).toEqual([{ access: 'invited' }])
  page.unmount()
  await invitations({ invitations: [{ ...FANS, revoked: true }] })
  expect(await asked('Invited visitors only')).toContain('no batch of codes is valid now')
  page.unmount()
  await invitations({ access: 'invited' })
  expect(await asked('Anyone')).toContain('Everyone can join')
})

test('access that could not be changed is shown as it is', async () => {
  const responses = [problemResponse(412, 'revision_mismatch'), Response.json(settings({ invitations: [FANS], access: 'invited', revision: 8 }))]
  await invitations({}, 'operator', () => responses.shift()!)
  const chosen = () => getElement('fieldset.radios label:has(:checked) strong').textContent
  expect(chosen()).toBe('Anyone')
  await choose('Invited visitors only')
  expect(page.find('[role="alert"]').exists()).toBe(true)
  expect(chosen()).toBe('Anyone')
  await choose('Invited visitors only')
  expect(page.find('[role="alert"]').exists()).toBe(false)
  expect(chosen()).toBe('Invited visitors only')
})

test('viewers see batches and change nothing', async () => {
  await invitations({}, 'viewer')
  expect(page.text()).toContain('Fan club')
  expect(page.findAll('button')).toHaveLength(0)
})

test('a batch that someone else revoked stays revoked', async () => {
  const queue = settings({ invitations: [FANS], revision: 7 })
  const current = { ...queue, invitations: [{ ...FANS, revoked: true }], revision: 8 }
  let stored = queue
  const requests = await invitations({ revision: 7 }, 'operator', () => problemResponse(412, 'revision_conflict', { params: { revision: 8 }, conflict: { current } }), () => stored)
  await press('Edit')
  await type('Codes', '300000')
  stored = current
  useStatsStore().setQueue(stats({ revision: 8 }))
  await flushPromises()
  expect(page.text()).toContain('Revoked')
  await submit()
  const sent = requests.filter(({ line }) => line.startsWith('PATCH'))
  expect(sent.map(({ headers }) => headers.get('if-match'))).toEqual(['"7"'])
  expect(getElement('[role="dialog"]').textContent).toContain('This queue was changed by someone else')
  getElement<HTMLButtonElement>('[role="dialog"] button', 'Continue').click()
  await flushPromises()
  await submit()
  const merged = { ...FANS, count: 300_000, revoked: true }
  expect(changes(requests).at(-1)).toEqual({ invitations: [merged] })
})

test('a batch is saved after someone else changed something else', async () => {
  const current = settings({ quota: 5, invitations: [FANS, { ...FANS, number: 9, id: 'press' }], revision: 8 })
  const answers = [problemResponse(412, 'revision_conflict', { conflict: { current } }), Response.json(current)]
  const requests = await invitations({ revision: 7 }, 'operator', () => answers.shift()!)
  await press('Add batch')
  await type('ID', 'late')
  await submit()
  expect(document.querySelector('[role="dialog"]')).toBeNull()
  expect(changes(requests).at(-1)).toMatchObject({ invitations: [{ id: 'fans' }, { id: 'press' }, { id: 'late' }] })
})

test('an error of the server goes away with the next attempt', async () => {
  const errors = [{ field: 'invitations[1].id', code: 'empty', detail: 'is empty' }]
  await invitations({}, 'operator', () => problemResponse(422, 'validation_failed', { errors }))
  await press('Add batch')
  await submit()
  await type('ID', 'press')
  await type('Codes', 'many')
  await submit()
  expect([...document.querySelectorAll('[role="dialog"] .field .error')].map(({ textContent }) => textContent)).toEqual(['Enter a whole number, 0 or more.'])
})
