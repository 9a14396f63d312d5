import { expect, test, vi } from 'vitest'

import { bytesOf } from './theme-files'
import { imagesOf, isDrawable } from './theme-images'

const file = (text: string) => bytesOf(text)

test('each image is listed once with its themes', () => {
  const images = imagesOf([
    ['acme', new Map([['queue.html', file('x')], ['logo.svg', file('one')]])],
    ['acme-summer', new Map([['img/sun.PNG', file('sun')], ['logo.svg', file('two')]])],
  ])
  expect(images.map(({ path, themes }) => [path, themes])).toEqual([['img/sun.PNG', ['acme-summer']], ['logo.svg', ['acme', 'acme-summer']]])
  expect(images[1]?.content).toEqual(file('one'))
})

test('a file that is not an image cannot be drawn', async () => {
  vi.stubGlobal('createImageBitmap', () => Promise.reject(new DOMException('no image')))
  expect(await isDrawable({ path: 'logo.svg', content: file('<svg xmlns="http://www.w3.org/2000/svg"/>') })).toBe(true)
  expect(await isDrawable({ path: 'logo.svg', content: file('<svg') })).toBe(false)
  expect(await isDrawable({ path: 'logo.png', content: file('no image') })).toBe(false)
  vi.stubGlobal('createImageBitmap', () => Promise.resolve({ close: () => undefined }))
  expect(await isDrawable({ path: 'logo.png', content: file('an image') })).toBe(true)
})
