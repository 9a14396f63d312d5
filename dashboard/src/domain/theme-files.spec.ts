import { expect, test } from 'vitest'

import { areSame, base64, bytesOf, hashedName, themeIn } from './theme-files'

const files = (...paths: string[]) => new Map(paths.map((path) => [path, bytesOf(path)]))

test('a folder around all of a theme, and what systems add, is left out', () => {
  const found = themeIn(files('acme/queue.html', 'acme/img/logo.svg', '__MACOSX/acme/._queue.html', 'acme/.DS_Store'))
  expect([...found.keys()]).toEqual(['queue.html', 'img/logo.svg'])
  expect([...themeIn(files('fonts/a.woff2')).keys()]).toEqual(['fonts/a.woff2'])
})

test('content becomes base64, however long', () => {
  expect(base64(bytesOf('Grüße'))).toBe('R3LDvMOfZQ==')
  expect(atob(base64(new Uint8Array(100_000))).length).toBe(100_000)
})

test('a logo gets a name that changes with its content', async () => {
  expect(await hashedName('My Logo.SVG', bytesOf('<svg/>'))).toMatch(/^my-logo\.[0-9a-f]{8}\.svg$/)
  expect(await hashedName('a.svg', bytesOf('1'))).not.toBe(await hashedName('a.svg', bytesOf('2')))
})

test('files are the same whoever read them', () => {
  expect(areSame(files('a', 'b'), files('b', 'a'))).toBe(true)
  expect(areSame(files('a'), files('a', 'b'))).toBe(false)
  expect(areSame(files('a'), new Map([['a', bytesOf('other')]]))).toBe(false)
})
