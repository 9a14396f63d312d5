// Reads ZIP archives: names and contents of files, as browsers can unpack them. Layout: PKWARE's APPNOTE, 4.3 and 4.4.

const END = 0x06054b50
const ENTRY = 0x02014b50
/** Bytes of the end record without a comment, and most that a comment may have. */
const END_SIZE = 22
const COMMENT_MAX = 0xffff
const STORED = 0
const DEFLATED = 8

/** Why something is no archive. */
export class ZipError extends Error {}

/** The files of an archive by their paths; folders are left out. */
export async function unzip(archive: ArrayBuffer): Promise<Map<string, Uint8Array<ArrayBuffer>>> {
  if (archive.byteLength < END_SIZE) throw new ZipError('nothing that could be an archive')
  const view = new DataView(archive)
  const end = endOf(view)
  const count = view.getUint16(end + 10, true)
  let at = view.getUint32(end + 16, true)
  const files = new Map<string, Uint8Array<ArrayBuffer>>()
  for (let index = 0; index < count; index += 1) {
    const entry = entryAt(view, at)
    at = entry.next
    if (!entry.name.endsWith('/')) files.set(entry.name, await contentOf(archive, entry))
  }
  return files
}

interface Entry {
  name: string
  method: number
  size: number
  /** Where its own header is. */
  header: number
  next: number
}

function endOf(view: DataView): number {
  const first = Math.max(0, view.byteLength - END_SIZE - COMMENT_MAX)
  for (let at = view.byteLength - END_SIZE; at >= first; at -= 1) {
    if (view.getUint32(at, true) === END) return at
  }
  throw new ZipError('no end of an archive')
}

function entryAt(view: DataView, at: number): Entry {
  if (at + 46 > view.byteLength || view.getUint32(at, true) !== ENTRY) throw new ZipError('no entry where one should be')
  const length = view.getUint16(at + 28, true)
  const next = at + 46 + length + view.getUint16(at + 30, true) + view.getUint16(at + 32, true)
  if (next > view.byteLength) throw new ZipError('an entry that is cut off')
  return {
    name: new TextDecoder().decode(new Uint8Array(view.buffer, at + 46, length)),
    method: view.getUint16(at + 10, true),
    size: view.getUint32(at + 20, true),
    header: view.getUint32(at + 42, true),
    next,
  }
}

async function contentOf(archive: ArrayBuffer, { name, method, size, header }: Entry): Promise<Uint8Array<ArrayBuffer>> {
  const view = new DataView(archive)
  if (header + 30 > archive.byteLength) throw new ZipError(`${name} is cut off`)
  const begin = header + 30 + view.getUint16(header + 26, true) + view.getUint16(header + 28, true)
  if (begin + size > archive.byteLength) throw new ZipError(`${name} is cut off`)
  const packed = new Uint8Array(archive, begin, size)
  if (method === STORED) return packed.slice()
  if (method !== DEFLATED) throw new ZipError(`${name} is packed in a way that is not known`)
  const inflating = new DecompressionStream('deflate-raw')
  const writer = inflating.writable.getWriter()
  // What goes wrong shows on the other side.
  void writer.write(packed).catch(() => undefined)
  void writer.close().catch(() => undefined)
  return new Uint8Array(await new Response(inflating.readable).arrayBuffer())
}
