import { expect, test } from 'vitest'

import { textOf } from './theme-files'
import { unzip, ZipError } from './zip'

/** As Python's zipfile makes it: a packed file, a folder, a stored file, and a comment. */
const ARCHIVE =
  'UEsDBBQAAAAIAAB4dV1G+JGfEgAAACADAAAKAAAAcXVldWUuaHRtbHMvOrzn8PxUBfdRepQepTFoAFBLAwQUAAAAAAAAeHVdAAAAAAAAAAAAAAAABAAAAGlt' +
  'Zy9QSwMEFAAAAAAAAHh1XUn7uawGAAAABgAAAAwAAABpbWcvbG9nby5zdmc8c3ZnLz5QSwECFAMUAAAACAAAeHVdRviRnxIAAAAgAwAACgAAAAAAAAAAAAAA' +
  'gAEAAAAAcXVldWUuaHRtbFBLAQIUAxQAAAAAAAB4dV0AAAAAAAAAAAAAAAAEAAAAAAAAAAAAAACAAToAAABpbWcvUEsBAhQDFAAAAAAAAHh1XUn7uawGAAAA' +
  'BgAAAAwAAAAAAAAAAAAAAIABXAAAAGltZy9sb2dvLnN2Z1BLBQYAAAAAAwADAKQAAACMAAAACQBhIGNvbW1lbnQ='

const archive = () => Uint8Array.from(atob(ARCHIVE), (letter) => letter.charCodeAt(0)).buffer

test('an archive is read, packed or not, with a comment behind it', async () => {
  const files = await unzip(archive())
  expect([...files.keys()]).toEqual(['queue.html', 'img/logo.svg'])
  expect(textOf(files.get('queue.html'))).toBe('Grüße '.repeat(100))
  expect(textOf(files.get('img/logo.svg'))).toBe('<svg/>')
})

test('what is no archive is refused', async () => {
  const whole = archive()
  await expect(unzip(new ArrayBuffer(100))).rejects.toThrow(ZipError)
  for (let cut = 0; cut < whole.byteLength - 'a comment'.length; cut += 1) {
    await expect(unzip(whole.slice(0, cut))).rejects.toThrow()
  }
})

test('packed content that was bent is refused', async () => {
  const bent = archive()
  // The first byte behind the header and the name of the first file.
  new Uint8Array(bent).fill(0xff, 30 + 'queue.html'.length, 30 + 'queue.html'.length + 8)
  await expect(unzip(bent)).rejects.toThrow()
})
