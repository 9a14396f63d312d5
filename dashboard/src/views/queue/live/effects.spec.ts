import { expect, test } from 'vitest'

import { locale } from '@/locale'
import { stats } from '@/testing/queues'

import { effects, isDangerous, wording, type Line } from './effects'

const line = (changes: Partial<Line> = {}): Line => ({ ...stats(), waiting: 1200, active: 500, quota: 500, rate: null, ...changes })

test('a release says how many it lets in, and what the site will carry then', () => {
  expect(effects({ kind: 'release', count: 200 }, line())).toEqual([
    'Lets 200 people in now; the site will carry 700.',
    'That is 200 above the quota; nobody else is let in until as many have left.',
  ])
  expect(effects({ kind: 'release', count: 200 }, line({ waiting: 1, active: 100 }))).toEqual([
    'Lets 1 person in now; the site will carry 101.',
    'No more can be let in: only 1 person waits.',
  ])
  expect(effects({ kind: 'release', count: 5 }, line({ waiting: 0 }))).toEqual(['Nobody waits now, so nobody is let in.'])
})

test('a raised quota lets in as many as there is room for, or as the rate allows', () => {
  expect(effects({ kind: 'quota', quota: 700 }, line())[0]).toBe('Lets 200 people in now; the site will carry 700.')
  expect(effects({ kind: 'quota', quota: 700 }, line({ rate: 60 }))).toEqual(['Up to 200 people more get in, at most 60 a minute.'])
  expect(effects({ kind: 'quota', quota: 700 }, line({ waiting: 0 }))).toEqual(['Room for 200 people more; nobody waits for it now.'])
})

test('a lowered quota sends nobody away', () => {
  expect(effects({ kind: 'quota', quota: 400 }, line())[0]).toMatch(/^Nobody is sent away. 100 people more/)
  expect(effects({ kind: 'quota', quota: 400 }, line({ active: 390 }))).toEqual(['Nobody is sent away. Room is left for 10 people.'])
  expect(effects({ kind: 'quota', quota: 0 }, line())[0]).toMatch(/^Nobody is let in any more/)
})

test('a quota of a queue that lets nobody in takes effect once it is open', () => {
  for (const lever of [{ kind: 'quota', quota: 700 }, { kind: 'rate', rate: 60 }] as const) {
    expect(effects(lever, line({ mode: 'paused' }))).toEqual(['This takes effect once the mode is “Open”; it is “Paused” now.'])
  }
})

test('every mode says what becomes of those who wait', () => {
  expect(effects({ kind: 'mode', mode: 'open' }, line({ mode: 'paused', active: 450 }))).toEqual([
    'Admissions begin: 50 people get in at once, and the site will carry 500.',
  ])
  expect(effects({ kind: 'mode', mode: 'paused' }, line()).join(' ')).toMatch(/1,200 people wait and keep their places/)
  expect(effects({ kind: 'mode', mode: 'closed' }, line()).join(' ')).toMatch(/Nobody can join.*500 people who are in stay/)
  expect(effects({ kind: 'mode', mode: 'draining' }, line()).join(' ')).toMatch(/Nobody new joins/)
  expect(effects({ kind: 'mode', mode: 'bypass' }, line()).join(' ')).toMatch(/the site must carry them all/)
})

test('what keeps visitors out or lets in too many is dangerous', () => {
  expect(isDangerous({ kind: 'mode', mode: 'closed' }, line())).toBe(true)
  expect(isDangerous({ kind: 'mode', mode: 'paused' }, line())).toBe(false)
  expect(isDangerous({ kind: 'quota', quota: 1001 }, line())).toBe(true)
  expect(isDangerous({ kind: 'quota', quota: 600 }, line())).toBe(false)
  expect(isDangerous({ kind: 'release', count: 1 }, line())).toBe(true)
  expect(isDangerous({ kind: 'release', count: 10 }, line({ active: 100 }))).toBe(false)
})

test('the button says what it does, in every language', () => {
  expect(wording({ kind: 'release', count: 200 }).action).toBe('Let 200 people in now')
  expect(wording({ kind: 'rate', rate: null }).action).toBe('Take the limit away')
  locale.value = 'de'
  expect(wording({ kind: 'release', count: 1 }).action).toBe('Jetzt 1 Person einlassen')
})
