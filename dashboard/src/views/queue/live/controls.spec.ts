import { readFileSync } from 'node:fs'

import { expect, test } from 'vitest'

import { locale } from '@/i18n'
import { settings, stats } from '@/testing/fixtures'

import { controlTexts, effects, isDangerous, LANGUAGES, lineOf, messagePatch, type Line } from './controls'

const line = (changes: Partial<Line> = {}): Line => ({ ...stats(), waiting: 1200, active: 500, quota: 500, rate: null, ...changes })

test('a release shows admissions and visitors above the quota', () => {
  expect(effects({ kind: 'release', count: 200 }, line())).toEqual([
    'Admits 200 visitors now, 700 active in total.',
    'That is 200 over the quota. Admissions resume when enough have left.',
  ])
  expect(effects({ kind: 'release', count: 200 }, line({ waiting: 1, active: 100 }))).toEqual([
    'Admits 1 visitor now, 101 active in total.',
    'Only 1 visitor is waiting.',
  ])
  expect(effects({ kind: 'release', count: 5 }, line({ waiting: 0 }))).toEqual(['The line is empty, so nobody is admitted.'])
})

test('a release of a paused queue promises no more admissions', () => {
  expect(effects({ kind: 'release', count: 5 }, line({ mode: 'paused', waiting: 31, active: 0, quota: 3 }))).toEqual([
    'Admits 5 visitors now, 5 active in total.',
    'That is 2 over the quota.',
  ])
})

test('opening a queue promises what rate and quota allow', () => {
  const opened = (changes: Partial<Line>) => effects({ kind: 'mode', mode: 'open' }, line({ mode: 'paused', ...changes }))
  expect(opened({ waiting: 36, active: 10, quota: 100, rate: 6 })).toEqual(['Admits up to 36 visitors more, at most 6 per minute.'])
  expect(opened({ active: 5, quota: 3 })).toEqual(['5 visitors are active, 2 over the quota. Admissions start when enough have left.'])
  expect(opened({ active: 3, quota: 3 })).toEqual(['Admissions start: one for each slot that becomes free.'])
  expect(opened({ active: 3, quota: 0 })).toEqual(['Nobody is admitted at a quota of 0.'])
})

test('the wait in the dialog of a quota is that before the change', () => {
  expect(effects({ kind: 'quota', quota: 700 }, line({ wait_seconds: { p50: 2760, p90: 3000 } })).at(-1)).toBe(
    '1,200 visitors are waiting. Estimated wait for new arrivals before the change: 46\u00a0min.',
  )
})

test('a raised quota shows immediate or rate-limited admissions', () => {
  expect(effects({ kind: 'quota', quota: 700 }, line())[0]).toBe('Admits 200 visitors now, 700 active in total.')
  expect(effects({ kind: 'quota', quota: 700 }, line({ rate: 60 }))).toEqual(['Admits up to 200 visitors more, at most 60 per minute.'])
  expect(effects({ kind: 'quota', quota: 700 }, line({ waiting: 0 }))).toEqual(['200 visitors more can be active. The line is empty.'])
})

test('a lowered quota removes nobody', () => {
  expect(effects({ kind: 'quota', quota: 400 }, line())[0]).toMatch(/^500 visitors are active, 100 over the new quota/)
  expect(effects({ kind: 'quota', quota: 400 }, line({ active: 390 }))).toEqual(['No one is removed. 10 visitors more can be active.'])
  expect(effects({ kind: 'quota', quota: 0 }, line())[0]).toMatch(/^Admissions stop/)
})

test('a mode change names its effect on the lobby of a draw', () => {
  const inLobby = line({ event: { phase: 'lobby', lobby_tickets: 50_021, awaits_beacon: false } })
  const last = (mode: 'open' | 'paused' | 'scheduled', line: Line) => effects({ kind: 'mode', mode }, line).at(-1)
  expect(last('open', inLobby)).toMatch(/^50,021 visitors are in the lobby of a draw and join the line at once/)
  expect(last('paused', inLobby)).toBe('50,021 visitors are in the lobby and stay in the draw. Newcomers do not get a lobby ticket in this mode.')
  expect(isDangerous({ kind: 'mode', mode: 'open' }, inLobby)).toBe(true)
  for (const event of [{ phase: 'lobby', lobby_tickets: null, awaits_beacon: false }, { phase: 'running', lobby_tickets: 50_021, awaits_beacon: false }]) {
    expect(isDangerous({ kind: 'mode', mode: 'open' }, line({ event }))).toBe(false)
  }
  const message = { kind: 'message', message: { default: 'Sold out.' }, before: null } as const
  expect(effects(message, inLobby)[0], 'waiting visitors and those of the lobby').toBe('51,221 visitors will see this.')
  const awaitsBeacon = line({ event: { phase: 'draw', lobby_tickets: 50_021, awaits_beacon: true } })
  expect(effects(message, awaitsBeacon)[0], 'visitors of the lobby join the line when the value is known').toBe('51,221 visitors will see this.')
  expect(last('scheduled', inLobby)).not.toContain('lobby')
})

test('quota and rate of a paused queue take effect when it opens', () => {
  for (const control of [{ kind: 'quota', quota: 700 }, { kind: 'rate', rate: 60 }] as const) {
    expect(effects(control, line({ mode: 'paused' }))).toEqual(['Takes effect when the mode is “Open”. The current mode is “Paused”.'])
  }
})

test('quota and rate of a scheduled queue apply in its event', () => {
  const [lobby_at, starts_at] = ['2027-03-04T09:30:00Z', '2027-03-04T10:00:00Z'].map((time) => Date.parse(time) / 1000)
  const event = { id: 'sale', name: 'General sale', phase: 'lobby', lobby_at, starts_at, awaits_beacon: false }
  const quota = { kind: 'quota', quota: 700 } as const
  expect(effects(quota, line({ mode: 'lobby', event }))).toEqual([expect.stringMatching(/^Takes effect when General sale starts, .*10:00\.$/)])
  expect(effects({ kind: 'rate', rate: 60 }, line({ mode: 'closed', event: { ...event, phase: 'idle' } }))[0]).toMatch(/^Takes effect when General sale starts/)
  expect(effects(quota, line({ mode: 'draw', event: { ...event, phase: 'draw' } }))).toEqual(['Takes effect when the draw of General sale is complete.'])
  expect(effects(quota, line({ mode: 'bypass', event: { phase: 'idle', awaits_beacon: false } }))).toEqual(['Takes effect when an event starts. None is planned.'])
  const message = { kind: 'message', message: { default: 'Soon.' }, before: null } as const
  expect(effects(message, line({ mode: 'bypass', event: { ...event, phase: 'idle' } }))[0]).toMatch(/^Takes effect when the lobby of General sale opens, .*09:30\.$/)
})

test('every mode shows its effect on waiting visitors', () => {
  expect(effects({ kind: 'mode', mode: 'open' }, line({ mode: 'paused', active: 450 }))).toEqual([
    'Admissions start: 50 visitors now, 500 active in total.',
  ])
  expect(effects({ kind: 'mode', mode: 'paused' }, line()).join(' ')).toMatch(/1,200 visitors wait/)
  expect(effects({ kind: 'mode', mode: 'closed' }, line()).join(' ')).toMatch(/1,200 waiting visitors.*500 active visitors continue/)
  expect(effects({ kind: 'mode', mode: 'draining' }, line()).join(' ')).toMatch(/1,200 waiting visitors are admitted/)
  expect(effects({ kind: 'mode', mode: 'bypass' }, line()).join(' ')).toMatch(/including the 1,200 waiting/)
})

test('between events, everyone passes or nobody joins', () => {
  const follow = { kind: 'mode', mode: 'scheduled' } as const
  const idle = (changes: Parameters<typeof settings>[0], waiting = 41) => lineOf(settings({ mode: 'open', ...changes }), stats({ waiting, active: 3 }), Date.parse('2027-03-04T12:00:00Z') / 1000)
  expect(effects(follow, idle({}))).toEqual([
    'The queue follows its events from the next request on.',
    'All visitors go straight to the site, including the 41 waiting. No limit applies.',
  ])
  expect(isDangerous(follow, idle({}))).toBe(true)
  expect(effects(follow, idle({ between_events: 'closed' }))[1]).toMatch(/^No one can join/)
  const event = { id: 'sale', starts_at: '2027-03-04T10:00:00Z', ends_at: '2027-03-04T11:00:00Z', order: 'arrival' as const, suspended: false }
  const during = [idle({ events: [event] }), idle({ events: [{ ...event, ends_at: '2027-03-04T11:51:00Z' }] }, 0)]
  for (const line of during) {
    expect(effects(follow, line)).toEqual(['The queue follows its events from the next request on.', '3 active visitors continue.'])
    expect(isDangerous(follow, line)).toBe(false)
  }
  const over = [idle({ events: [event] }, 0), idle({ events: [{ ...event, suspended: true }] }), idle({ events: [{ ...event, lobby_at: '2027-03-04T12:30:00Z', starts_at: '2027-03-04T13:00:00Z', ends_at: '2027-03-04T14:00:00Z' }] })]
  for (const line of over) expect(isDangerous(follow, line)).toBe(true)
})

test('following an event before its start stops admissions', () => {
  const follow = { kind: 'mode', mode: 'scheduled' } as const
  const sale = { id: 'sale', name: 'General sale', lobby_at: '2027-03-04T11:30:00Z', starts_at: '2027-03-04T13:00:00Z', ends_at: '2027-03-04T14:00:00Z', order: 'draw' as const, suspended: false }
  const at = (time: string, changes: Parameters<typeof settings>[0] = {}) => lineOf(settings({ mode: 'open', events: [sale], ...changes }), stats({ mode: changes.mode ?? 'open', waiting: 45, active: 3 }), Date.parse(time) / 1000)
  const inLobby = at('2027-03-04T12:00:00Z')
  expect(effects(follow, inLobby)).toEqual([
    'The queue follows its events from the next request on.',
    expect.stringMatching(/^Nobody is admitted until General sale starts, .*13:00\. 45 visitors keep waiting\.$/),
    '3 active visitors continue.',
  ])
  expect(isDangerous(follow, inLobby)).toBe(true)
  expect(isDangerous(follow, at('2027-03-04T12:00:00Z', { mode: 'bypass' })), 'everyone passed').toBe(true)
  expect(isDangerous(follow, at('2027-03-04T12:00:00Z', { mode: 'paused' })), 'nobody was admitted').toBe(false)
  const inDraw = at('2027-03-04T13:00:10Z')
  expect(effects(follow, inDraw)[1]).toBe('Nobody is admitted until the draw of General sale is complete. 45 visitors keep waiting.')
  expect(isDangerous(follow, inDraw)).toBe(true)
  const running = at('2027-03-04T13:01:00Z')
  expect(effects(follow, running).join(' ')).not.toContain('Nobody')
  expect(isDangerous(follow, running)).toBe(false)
})

test('controls that block or exceed the quota are dangerous', () => {
  expect(isDangerous({ kind: 'mode', mode: 'closed' }, line())).toBe(true)
  expect(isDangerous({ kind: 'mode', mode: 'paused' }, line())).toBe(false)
  expect(isDangerous({ kind: 'quota', quota: 1001 }, line())).toBe(true)
  expect(isDangerous({ kind: 'quota', quota: 600 }, line())).toBe(false)
  expect(isDangerous({ kind: 'release', count: 1 }, line())).toBe(true)
  expect(isDangerous({ kind: 'release', count: 10 }, line({ active: 100 }))).toBe(false)
})

test('German effects agree with the number of visitors', () => {
  locale.value = 'de'
  const first = (mode: 'closed' | 'draining' | 'bypass', changes: Partial<Line>) => effects({ kind: 'mode', mode }, line(changes))[0]
  expect(first('closed', { waiting: 1 })).toMatch(/auch für 1 wartenden Besucher\.$/)
  expect(first('closed', { waiting: 0 })).toMatch(/auch für 0 wartende Besucher\.$/)
  expect(first('draining', { waiting: 1 })).toContain('1 wartender Besucher wird eingelassen')
  expect(first('draining', { waiting: 36 })).toContain('36 wartende Besucher werden eingelassen')
  expect(first('bypass', { waiting: 1 })).toContain('auch 1 wartender Besucher.')
  expect(first('bypass', { waiting: 36 })).toContain('auch 36 wartende Besucher.')
})

test('the button names the change in every language', () => {
  expect(controlTexts({ kind: 'release', count: 200 }).action).toBe('Admit 200 visitors')
  expect(controlTexts({ kind: 'rate', rate: null }).action).toBe('Remove limit')
  locale.value = 'de'
  expect(controlTexts({ kind: 'release', count: 1 }).action).toBe('1 Besucher einlassen')
})

test('a message shows who will see it, and its texts', () => {
  const message = { default: 'Sold out.', de: 'Ausverkauft.' }
  expect(effects({ kind: 'message', message, before: null }, line({ waiting: 4210 }))).toEqual([
    '4,210 visitors will see this.',
    '“Sold out.”',
    'German: “Ausverkauft.”',
  ])
  expect(effects({ kind: 'message', message: null, before: message }, line({ waiting: 1 }))).toEqual(['1 visitor will no longer see the message.'])
  expect(effects({ kind: 'message', message, before: null }, line({ mode: 'bypass' }))[0]).toMatch(/^Takes effect when the mode is “Open”/)
  locale.value = 'de'
  expect(controlTexts({ kind: 'message', message: null, before: message }).action).toBe('Nachricht entfernen')
})

test('a changed message removes languages that are no longer there', () => {
  expect(messagePatch({ default: 'a', fr: 'b' }, { default: 'a', de: 'c' })).toEqual({ default: 'a', de: null, fr: 'b' })
  expect(messagePatch(null, { default: 'a' })).toBeNull()
})

test('a message can have each language of the queue page', () => {
  const { ThemeDraft } = JSON.parse(readFileSync('../openapi.json', 'utf8')).components.schemas
  const languages = (ThemeDraft.properties.language.enum as (string | null)[]).filter((code) => code !== null)
  expect(languages.toSorted()).toEqual(LANGUAGES)
})
