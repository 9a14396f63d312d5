import { isUtf8, textOf } from './theme-files'

/** Unpacks a ZIP archive; the library is loaded on demand. Throws if it is not one. */
export async function unzip(archive: ArrayBuffer): Promise<Map<string, Uint8Array<ArrayBuffer>>> {
  const { unzipSync } = await import('fflate')
  const files = Object.entries(unzipSync(new Uint8Array(archive))) as [string, Uint8Array<ArrayBuffer>][]
  return new Map(files.filter(([path]) => !path.endsWith('/')).map(([path, content]) => [decoded(path), content]))
}

/** A path that is UTF-8 without the flag of the archive that says so, as macOS writes it. The library reads it as Latin-1. */
function decoded(path: string): string {
  const bytes = Uint8Array.from(path, (character) => character.codePointAt(0) ?? 0)
  const isLatin1 = String.fromCodePoint(...bytes) === path
  return isLatin1 && isUtf8(bytes) ? textOf(bytes) : path
}
