import { expect, test } from 'vitest'

import { guidedOf, nothing, pagesOf, type Guided } from './guided'

const some: Guided = {
  colour: '#c2185b',
  logo: 'logo.3f2a9c1b.svg',
  texts: { notes: { '*': 'Doors open at 7 pm.', de: 'Türen öffnen um 19 Uhr.' }, footer: { '*': 'help@acme.example' } },
}

test('what was chosen is found again in the pages', () => {
  expect(guidedOf(pagesOf(some))).toEqual(some)
  expect(guidedOf(new Map())).toEqual(nothing())
})

test('where nothing was chosen there are no pages', () => {
  expect(pagesOf(nothing()).size).toBe(0)
  expect(pagesOf({ ...nothing(), texts: { notes: { de: '  ' } } }).size).toBe(0)
})

test('a page that was changed by hand is nobody’s choice any more', () => {
  const pages = pagesOf(some)
  const queue = pages.get('queue.html') ?? ''
  expect(guidedOf(new Map([...pages, ['queue.html', queue.replace('7 pm', '8 pm')]]))).toBeUndefined()
  expect(guidedOf(new Map([['queue.html', queue]]))).toBeUndefined()
  expect(guidedOf(new Map([['queue.html', '{% extends "vestibule/queue.html" %}']]))).toBeUndefined()
  expect(guidedOf(new Map([['queue.html', '{# dashboard 811c9dc5 {"texts": #}\n']]))).toBeUndefined()
})

test('a text is never taken for markup, a template or the end of a comment', () => {
  const text = '<b> {{ x }} {% y %} #} "quoted" \\ \n next'
  const pages = pagesOf({ ...nothing(), texts: { notes: { en: text } } })
  const page = pages.get('queue.html') ?? ''
  expect(page).toContain(`{{ ${JSON.stringify(text)} }}`)
  expect(page.split('\n', 1)[0]?.indexOf('#}')).toBe((page.split('\n', 1)[0]?.length ?? 0) - 2)
  expect(guidedOf(pages)?.texts.notes?.en).toBe(text)
})

test('a text for everybody else comes last', () => {
  const page = pagesOf({ ...nothing(), texts: { intro: { '*': 'other', fr: 'français', de: 'deutsch' } } }).get('queue.html') ?? ''
  expect(page).toMatch(/if lang == "de"[^]*elif lang == "fr"[^]*else[^]*endif/)
})
