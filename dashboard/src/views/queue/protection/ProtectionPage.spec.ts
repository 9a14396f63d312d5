import { flushPromises, type VueWrapper } from '@vue/test-utils'
import { defineComponent, h } from 'vue'
import { expect, test } from 'vitest'

import type { QueueProtection, QueueSettings } from '@/api/types'
import { zone } from '@/i18n'
import { useConfirmationStore } from '@/stores/confirmation'
import { useFreshnessStore } from '@/stores/freshness'
import { useStatsStore } from '@/stores/stats'
import { mockApi, type ApiRequest } from '@/testing/api'
import { settings, stats } from '@/testing/fixtures'
import { getElement, mountApp, signInAs } from '@/testing/mount'

import { provideQueue } from '../useQueue'
import ProtectionPage from './ProtectionPage.vue'

const QUEUE = '/api/v1/queues/acme-tour'
const AT = 1_790_000_000
const cells = (...first: number[]) => [...first, ...new Array<number>(16 - first.length).fill(0)]
const REPORT: QueueProtection = {
  queue: 'acme-tour', mode: 'monitor', pre_ticket_required: true, attack_mode_until: null, client_address: 'ok', no_address_share: 0, window_seconds: 412,
  pre_tickets: { issued: 1000, redeemed: 106, share_not_redeemed: 0.894 },
  joins: { per_second: 33.1, by_address: cells(50, 100), by_network: cells(1, 2, 4, 8, 16, 32, 64, 128, 256, 291) },
  networks: [{ prefix: '203.0.113.0/24', joins: 802, list: null }, { prefix: '198.51.100.0/24', joins: 20, list: 'shared' }],
  over_limit: { address: 0, network: 402 }, rejected: { blocked: 0, full: 0, rate: 0, limit: 7 },
  would_challenge: 1290, proofs: { challenged: 31, valid: 27, invalid: 2, delayed_joins: 3 },
  difficulty: 0, identities: { accepted: 0, rejected: 0 },
}

let page: VueWrapper

async function open(report: Partial<QueueProtection> = {}, role: 'operator' | 'viewer' = 'operator', changes: Partial<QueueSettings> = {}): Promise<ApiRequest[]> {
  const now = stats({ at: AT })
  const requests = mockApi({
    [`GET ${QUEUE}`]: settings(changes),
    [`GET ${QUEUE}/stats`]: now,
    [`GET ${QUEUE}/protection`]: { ...REPORT, ...report },
    [`PATCH ${QUEUE}`]: settings({ ...changes, revision: 8 }),
    [`PUT ${QUEUE}/attack-mode`]: { attack_mode_until: AT + 1800 },
    [`DELETE ${QUEUE}/attack-mode`]: 204,
  })
  signInAs(role)
  useStatsStore().setQueue(now)
  Object.defineProperty(useFreshnessStore(), 'isStale', { value: false })
  page = mountApp(defineComponent({
    setup() {
      const { settings } = provideQueue(() => 'acme-tour')
      return () => settings.value && h(ProtectionPage)
    },
  }))
  await flushPromises()
  await flushPromises()
  return requests
}

const sent = (requests: ApiRequest[], method: string) => requests.filter(({ line }) => line.startsWith(method))

/** The text of the page. Values and their units are joined by no-break spaces. */
const text = () => page.text().replaceAll('\u00a0', ' ')

async function press(text: string): Promise<void> {
  getElement<HTMLButtonElement>('button', text).click()
  await flushPromises()
}

test('the report is shown with the effect of the limits', async () => {
  await open()
  const shownText = text()
  for (const shown of ['First visits that did not come back', '89%', '2 requests', '203.0.113.0/24', 'Newcomers who had to prove work31', 'Joins that would have needed a proof1,290', 'Would have rejected 0 of 150 joins in the last 6 min 52 s.']) expect(shownText).toContain(shown)
  // Of cell 8, the 111 joins above 400 are rejected, and all of cell 9.
  expect(shownText).toContain('Would have rejected 402 of 802 joins in the last 6 min 52 s, from 1 network.')
  expect(shownText.toLowerCase()).not.toContain('bots')
})

test('the cost of a position includes its proof of work', async () => {
  await open({ difficulty: 4 }, 'operator', { protection: { proof_of_work: { effort: 5000 } } })
  expect(text()).toContain('5.7 core-seconds, 4 requests')
})

test('moved limits are saved with the loaded revision', async () => {
  const requests = await open()
  const slider = page.findAll('input[type="range"]')[0]!
  await slider.setValue(0)
  expect(slider.attributes('aria-valuetext')).toBe('1 join in 10 minutes')
  expect(text()).toContain('Would have rejected 100 of 150 joins')
  await press('Save limits')
  expect(sent(requests, 'PATCH').map(({ body, headers }) => [body, headers.get('if-match')])).toEqual([[{ protection: { per_address: 1, per_network: 400 } }, '"7"']])
})

test('networks are classified, and blocked after a confirmation', async () => {
  const requests = await open({}, 'operator', { protection: { networks: { '198.51.100.0/24': 'shared' } } } as Partial<QueueSettings>)
  await press('Mark as suspicious')
  expect(sent(requests, 'PATCH')[0]).toMatchObject({ body: { protection: { networks: { '203.0.113.0/24': 'suspicious' } } } })
  getElement('[aria-label="Mark as shared: 198.51.100.0/24"]').click()
  await flushPromises()
  expect(sent(requests, 'PATCH')[1]).toMatchObject({ body: { protection: { networks: { '198.51.100.0/24': null } } } })
  await press('Block')
  expect(sent(requests, 'PATCH')).toHaveLength(2)
  useConfirmationStore().pending!.answer(true)
  await flushPromises()
  expect(sent(requests, 'PATCH')[2]).toMatchObject({ body: { protection: { networks: { '203.0.113.0/24': 'blocked' } } } })
})

test('a network inside a classified one gets its own class', async () => {
  const requests = await open({}, 'operator', { protection: { networks: { '198.51.0.0/16': 'shared' } } } as Partial<QueueSettings>)
  const button = getElement('[aria-label="Mark as shared: 198.51.100.0/24"]')
  expect(button.getAttribute('aria-pressed')).toBe('false')
  button.click()
  await flushPromises()
  expect(sent(requests, 'PATCH')[0]).toMatchObject({ body: { protection: { networks: { '198.51.100.0/24': 'shared' } } } })
})

test('attack mode starts after a confirmation with the numbers', async () => {
  const requests = await open()
  await press('Start attack mode')
  expect(sent(requests, 'PUT')).toEqual([])
  const dialog = getElement('[role="dialog"]')
  expect(dialog.textContent).toContain('The browser of every newcomer computes before it joins')
  expect(dialog.textContent).not.toContain('would have rejected')
  dialog.querySelector('form')!.requestSubmit()
  await flushPromises()
  expect(sent(requests, 'PUT')[0]?.body).toEqual({ duration_seconds: 1800 })
})

test('the attack mode dialog shows what limits would reject', async () => {
  await open({}, 'operator', { protection: { on_exceed: 'reject' } } as Partial<QueueSettings>)
  await press('Start attack mode')
  expect(getElement('[role="dialog"]').textContent).toContain('Half of the limit per network would have rejected 602 of 802 joins')
})

test.each([
  ['monitor', null, 'The block applies in attack mode only'],
  ['monitor', AT + 600, 'From the next request, visitors from this network cannot join'],
  ['enforce', null, 'From the next request, visitors from this network cannot join'],
] as const)('a network is blocked in the mode %s, attack mode until %s', async (mode, attack_mode_until, said) => {
  await open({ attack_mode_until }, 'operator', { protection: { mode } } as Partial<QueueSettings>)
  await press('Block')
  expect(useConfirmationStore().pending!.body).toContain(said)
})

test('attack mode shows the time left and ends early', async () => {
  const requests = await open({ attack_mode_until: AT + 600 })
  expect(text()).toContain('It ends in 10 min.')
  await press('End now')
  expect(sent(requests, 'DELETE')).toHaveLength(1)
})

test('limits of joins are what they are in attack mode', async () => {
  const limits = () => getElement('.pairs > div', 'Limits of joins').querySelector('dd')!.textContent
  await open()
  expect(limits()).toBe('Monitor')
  page.unmount()
  zone.value = 'UTC'
  await open({ attack_mode_until: AT + 600 })
  expect(limits()).toBe('Enforced and halved until 21 Sept, 14:23')
})

test('unreliable addresses are a banner', async () => {
  await open({ client_address: 'extra_proxy' })
  expect(getElement('[role="alert"]').textContent).toContain('Client addresses are not reliable; limits are not applied.')
})

test('viewers see the report and change nothing', async () => {
  await open({ attack_mode_until: AT + 600 }, 'viewer')
  expect(text()).toContain('It ends in 10 min.')
  expect(page.findAll('button')).toHaveLength(0)
})
