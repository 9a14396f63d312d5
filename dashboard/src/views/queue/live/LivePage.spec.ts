import { expect, test } from 'vitest'

import { locale } from '@/i18n'
import { mountApp } from '@/testing/mount'
import { settings, stats } from '@/testing/fixtures'

import DrainNotice from './DrainNotice.vue'
import EventNotice from './EventNotice.vue'
import StatTiles from './StatTiles.vue'

const plain = (text: string) => text.replace(/[\s\u00a0]+/g, ' ')
const tiles = (wait_seconds: { p50: number; p90: number } | null) => plain(mountApp(StatTiles, { stats: stats({ wait_seconds }) }).text())
const drain = (changes: Parameters<typeof stats>[0]) =>
  plain(mountApp(DrainNotice, { stats: stats({ mode: 'draining', wait_seconds: null, ...changes }), settings: settings({ hold_ttl: 600 }) }).text())

test('equal bounds of an estimate are shown once', () => {
  expect(tiles({ p50: 55, p90: 150 })).toContain('55 s up to 3 min')
  expect(tiles({ p50: 61, p90: 80 })).toMatch(/about 1 min(?! up)/)
  expect(tiles({ p50: 0, p90: 0 })).toContain('no wait')
  locale.value = 'de'
  expect(tiles({ p50: 61, p90: 80 })).toMatch(/etwa 1 min(?! bis)/)
})

test('a drain shows its progress and end', () => {
  expect(drain({ waiting: 120, active: 1, drained_in_seconds: { p50: 300, p90: 310 } })).toMatch(
    /120 waiting, 1 active.*empty in about 5 min\..*closes 10 min later/,
  )
  expect(drain({ waiting: 0, active: 3, drained_in_seconds: { p50: 0, p90: 0 } })).toMatch(/has been empty for 10 min/)
  expect(drain({ waiting: 5, active: 0, drained_in_seconds: null })).toMatch(/no estimate/)
  expect(drain({ mode: 'open' })).toBe('')
})

test('a queue without a current event says that everyone passes', () => {
  const notice = (changes: Parameters<typeof stats>[0]) => plain(mountApp(EventNotice, { stats: stats({ mode: 'scheduled', event: { phase: 'idle', awaits_beacon: false }, ...changes }) }).text())
  expect(notice({ effective_mode: 'bypass' })).toContain('No event is ahead. All visitors go straight to the site now. No limit applies.')
  expect(notice({ effective_mode: 'closed' })).not.toContain('No limit applies')
})

test('the lobby of a draw has its name', () => {
  locale.value = 'de'
  const title = (lobby_tickets: number | null) => mountApp(EventNotice, { stats: stats({ mode: 'scheduled', event: { phase: 'lobby', name: 'Verkauf', starts_at: 1_790_000_100, starts_in: 100, lobby_tickets, awaits_beacon: false } }) }).text()
  expect(title(3)).toContain('Verkauf: Vor der Auslosung')
  expect(title(3)).toContain('Bisher nehmen 3 Besucher teil.')
  expect(title(null)).toMatch(/Verkauf: Besucher stellen sich an(?!.*Bisher)/)
})
