import { strToU8, zipSync } from 'fflate'
import { expect, test } from 'vitest'

import { unzip } from './archive'
import { textOf } from './theme-files'

const archive = (files: Record<string, string>) =>
  zipSync(Object.fromEntries(Object.entries(files).map(([path, text]) => [path, strToU8(text)]))).slice().buffer

test('files of an archive are unpacked, folders are not', async () => {
  const files = await unzip(archive({ 'queue.html': 'Grüße', 'img/': '', 'img/logo.svg': '<svg/>' }))
  expect([...files.keys()]).toEqual(['queue.html', 'img/logo.svg'])
  expect(textOf(files.get('queue.html'))).toBe('Grüße')
})

test('data that is not a ZIP archive is rejected', async () => {
  await expect(unzip(new ArrayBuffer(100))).rejects.toThrow()
})
