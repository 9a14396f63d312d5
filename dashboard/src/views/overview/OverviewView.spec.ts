import { flushPromises, type VueWrapper } from '@vue/test-utils'
import { expect, test } from 'vitest'

import { listQueueStats } from '@/api/stats'
import type { QueueStats } from '@/api/types'
import { useStatsStore } from '@/stores/stats'
import { usePreferencesStore } from '@/stores/preferences'
import { useTenantsStore } from '@/stores/tenants'
import { mountApp, signInAs } from '@/testing/mount'
import { stats } from '@/testing/fixtures'
import { mockApi } from '@/testing/api'

import OverviewView from './OverviewView.vue'

let page: VueWrapper

const signal = new AbortController().signal

/** Mounts the page with these queues. */
async function overview(...queues: QueueStats[]): Promise<void> {
  await numbers(...queues)
  page = mountApp(OverviewView)
  await flushPromises()
}

async function numbers(...queues: QueueStats[]): Promise<void> {
  mockApi({ 'GET /api/v1/stats': { queues: queues.map((queue) => ({ ...queue, recent: [] })) } })
  expect((await listQueueStats(30)).queues).toHaveLength(queues.length)
  await useStatsStore().loadRecent(signal)
  await flushPromises()
}

const names = () => page.findAll('tbody th a').map((link) => link.text())
const queue = (id: string, changes: Partial<QueueStats> = {}) => stats({ queue: id, name: id, ...changes })

test('queues with alerts come first and are counted', async () => {
  signInAs()
  await overview(queue('calm'), queue('paused', { mode: 'paused', waiting: 3 }), queue('still', { waiting: 9, admitted_per_minute: 0 }))
  expect(names()).toEqual(['still', 'paused', 'calm'])
  expect(page.find('.totals .has-alerts dd').text()).toBe('2')
  await page.find('input[type="checkbox"]').setValue(true)
  expect(names()).toEqual(['still', 'paused'])
})

test('rows keep their order under the pointer', async () => {
  signInAs()
  await overview(queue('a', { waiting: 5 }), queue('b', { waiting: 3 }))
  await page.find('.table-frame').trigger('pointerenter', { pointerType: 'mouse' })
  await numbers(queue('a', { waiting: 1 }), queue('b', { waiting: 900 }))
  expect(names()).toEqual(['a', 'b'])
  expect(page.text()).toContain('900')
  await page.find('.table-frame').trigger('pointerleave')
  expect(names()).toEqual(['b', 'a'])
})

test('queues are filtered by search and tenant', async () => {
  signInAs()
  await overview(queue('acme-tour', { name: 'World tour' }), queue('acme-club', { name: 'Club tour' }), queue('coral-tour', { tenant: 'coral', name: 'World tour' }))
  await page.find('input[type="search"]').setValue('TOUR world')
  expect(names()).toEqual(['World tour', 'World tour'])
  usePreferencesStore().tenant = 'coral'
  await flushPromises()
  expect(page.findAll('tbody tr')).toHaveLength(1)
  await page.find('input[type="search"]').setValue('club')
  expect(page.text()).toContain('No queues match')
  await page.find('.empty button').trigger('click')
  expect(page.findAll('tbody tr')).toHaveLength(3)
})

test('a scheduled queue shows what it does now', async () => {
  signInAs()
  const scheduled = (id: string, effective_mode: QueueStats['effective_mode'], event: Partial<NonNullable<QueueStats['event']>>) =>
    queue(id, { mode: 'scheduled', effective_mode, event: { phase: 'idle', awaits_beacon: false, ...event } })
  await overview(scheduled('between', 'bypass', {}), scheduled('drawn', 'lobby', { phase: 'lobby', lobby_tickets: 3 }), scheduled('sale', 'open', { phase: 'running' }), queue('open'))
  const badges = Object.fromEntries(page.findAll('tbody tr').map((row) => [row.find('th a').text(), row.findAll('.badges .badge').map((badge) => badge.text())]))
  expect(badges).toEqual({ between: ['Scheduled', 'Bypass'], drawn: ['Scheduled', 'Lobby open'], sale: ['Scheduled', 'Running'], open: ['Open'] })
  expect(page.findAll('tbody tr').filter((row) => row.text().includes('and 3 in the lobby'))).toHaveLength(1)
})

test('what limits a line is a state and no alert', async () => {
  signInAs()
  await overview(queue('sale', { waiting: 9, active: 100, attack_mode_until: 1_790_000_600 }))
  expect(page.findAll('tbody .badges .badge').map((badge) => badge.text())).toEqual(['Open', 'Attack mode', 'Quota in use'])
  expect([page.find('tbody .alert-cell').text(), page.findAll('.totals dd').at(-1)?.text()]).toEqual(['', '0'])
})

test('a name that stands for the host is shown as the ID', async () => {
  signInAs()
  useTenantsStore().tenants = [{ id: 'site', name: '{host}', color: null, logo: null, domains: null, origins: null, max_job_queues: null }]
  await overview(queue('shop', { tenant: 'site', name: '{host}' }))
  expect(page.find('tbody th').text()).toBe('shopsite · shop')
})

test('the empty state depends on the role', async () => {
  signInAs('operator')
  await overview()
  expect(page.find('.empty a').text()).toBe('Create a queue')
  page.unmount()
  signInAs('viewer')
  page = mountApp(OverviewView)
  expect(page.find('.empty').text()).toContain('Ask an operator')
  expect(page.find('.empty a').exists()).toBe(false)
})

test('unknown totals are not shown as zero', async () => {
  signInAs()
  await overview(queue('new', { joined_per_minute: null, admitted_per_minute: null, wait_seconds: null }))
  const totals = page.findAll('.totals dd').map((total) => total.text())
  expect(totals).toEqual(['0', '40', '–', '–', '0'])
})

test('a long estimate is not called a long wait', async () => {
  signInAs()
  await overview(queue('a', { waiting: 9, wait_seconds: { p50: 3600, p90: 5400 } }))
  expect(page.text()).toContain('Long estimated wait')
  expect(page.text()).not.toMatch(/Long wait|Longest/)
})
