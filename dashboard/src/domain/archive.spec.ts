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

test.each([0, 0x800])('names are UTF-8, with or without the flag (%i)', async (flag) => {
  const bytes = new Uint8Array(archive({ 'img/größe.svg': '<svg/>', 'img/ж.svg': '<svg/>' }))
  const view = new DataView(bytes.buffer)
  for (let at = 0; at < bytes.length - 10; at += 1) {
    // The flags of the central directory.
    if (view.getUint32(at, true) === 0x02014b50) view.setUint16(at + 8, flag, true)
  }
  expect([...(await unzip(bytes.buffer)).keys()]).toEqual(['img/größe.svg', 'img/ж.svg'])
})

test('data that is not a ZIP archive is rejected', async () => {
  await expect(unzip(new ArrayBuffer(100))).rejects.toThrow()
})
