import { expect, test } from 'vitest'

import { areSame, base64, bytesOf, isUtf8, themeIn } from './theme-files'

const files = (...paths: string[]) => new Map(paths.map((path) => [path, bytesOf(path)]))

test('a common folder and system files are removed', () => {
  const found = themeIn(files('acme/queue.html', 'acme/img/logo.svg', '__MACOSX/acme/._queue.html', 'acme/.DS_Store', 'acme/img/._logo.svg'))
  expect([...found.keys()]).toEqual(['queue.html', 'img/logo.svg'])
  expect([...themeIn(files('acme/error.html', 'acme/a.css')).keys()]).toEqual(['error.html', 'a.css'])
  expect([...themeIn(files('acme/job.html')).keys()]).toEqual(['job.html'])
  expect([...themeIn(files('fonts/a.woff2')).keys()]).toEqual(['fonts/a.woff2'])
})

test('content of any length is encoded as base64', () => {
  expect(base64(bytesOf('Grüße'))).toBe('R3LDvMOfZQ==')
  expect(atob(base64(new Uint8Array(100_000))).length).toBe(100_000)
})

test('text that is not UTF-8 is recognized', () => {
  expect(isUtf8(bytesOf('Türen'))).toBe(true)
  expect(isUtf8(new Uint8Array([0x54, 0xfc, 0x72, 0x65, 0x6e]))).toBe(false)
})

test('files are compared by content', () => {
  expect(areSame(files('a', 'b'), files('b', 'a'))).toBe(true)
  expect(areSame(files('a'), files('a', 'b'))).toBe(false)
  expect(areSame(files('a'), new Map([['a', bytesOf('other')]]))).toBe(false)
})
