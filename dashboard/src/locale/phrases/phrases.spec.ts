import { readFileSync } from 'node:fs'

import { expect, test } from 'vitest'

import { locale, LOCALES, type Locale } from '../locale'
import { fill, type Phrase } from './phrase'
import { SAYINGS, say, sentence } from '.'

const ENGLISH = JSON.parse(readFileSync('../openapi.json', 'utf8')).components.schemas.PhraseCode['x-english'] as Record<string, string>
/** What a gap is filled with: never one, and another number for each. */
const many = (index: number) => 7919 + 1000 * index

const gaps = (text: string) => [...text.matchAll(/\{([a-z_]+)\}/g)].map(([, name]) => name ?? '')
const digits = (text: string) => text.replace(/[.,\s\u00a0]/g, '')

/** Whether a text has what a gap was filled with: its name, or its number, which may be one more or a time. */
const has = (text: string, name: string, index: number) =>
  text.includes(`<${name}>`) || [many(index), many(index) + 1, ...(index === 0 ? ['2h11min'] : [])].some((it) => digits(text).includes(String(it)))

test.each(Object.keys(LOCALES) as Locale[])('in %s, every phrase of the server has its words and fills all of their gaps', (name) => {
  locale.value = name
  const lacking = Object.keys(ENGLISH).filter((code) => name !== 'en' && !(code in SAYINGS[name]))
  expect(lacking).toEqual([])
  for (const [code, english] of Object.entries(ENGLISH)) {
    if (!(code in SAYINGS[name])) continue
    const wanted = gaps(english)
    const texts = fill({ code, params: Object.fromEntries(wanted.map((gap) => [gap, `<${gap}>`])) }, SAYINGS[name]) ?? ''
    const numbers = fill({ code, params: Object.fromEntries(wanted.map((gap, index) => [gap, many(index)])) }, SAYINGS[name]) ?? ''
    expect(gaps(texts), `${code}: ${texts}`).toEqual([])
    // What is left out on purpose: the revision that is there now.
    const lost = wanted.filter((gap, index) => gap !== 'revision' && !has(texts, gap, index) && !has(numbers, gap, index))
    expect(lost, `${code}: ${texts}`).toEqual([])
  }
})

test('a phrase is said in the language of the operator', () => {
  const what: Phrase = { code: 'whole_number', params: { least: 0, most: 10_000_000 } }
  const wrong: Phrase = { code: 'takes_not', params: { what, given: '-1' } }
  const message = 'takes a whole number from 0 to 10000000, not -1'
  expect(sentence(wrong, message)).toBe('Takes a whole number from 0 to 10000000, not -1.')
  locale.value = 'de'
  expect(sentence(wrong, message)).toBe('Erwartet eine ganze Zahl von 0 bis 10.000.000, nicht -1.')
})

test('what a newer server says is said in its words, a part of it included', () => {
  locale.value = 'de'
  expect(say({ code: 'brand_new' }, 'is brand new')).toBe('is brand new')
  expect(say({ code: 'takes', params: { what: { code: 'brand_new' } } }, 'takes something new')).toBe('takes something new')
})

test('words bend with what stands in them', () => {
  locale.value = 'de'
  const released = (people: number) => say({ code: 'will_release', params: { people, active: 12, quota: 10 } }, '')
  expect(released(1)).toContain('1 Mensch kommt jetzt')
  expect(released(2)).toContain('2 Menschen kommen jetzt')
})
