/** Files of a theme by their paths. */
export type ThemeFiles = ReadonlyMap<string, Uint8Array<ArrayBuffer>>

/** Maximum number of arguments per call. */
const CHUNK = 0x8000
const TEXTS = /\.(html|css|js|mjs|json|txt|svg)$/
const IMAGES = /\.(svg|png|jpe?g|webp|avif|gif)$/
/** Files that operating systems add to archives. The API ignores the same ones. */
const LITTER = /(^__MACOSX\/|(^|\/)(\._[^/]*|\.DS_Store|Thumbs\.db|desktop\.ini)$)/
/** The pages that a theme can replace. */
export const PAGES = ['queue.html', 'closed.html', 'error.html', 'job.html']

/** Whether a file can be edited as text. */
export const isText = (path: string) => TEXTS.test(path)

/** Whether a file can be a logo. */
export const isImage = (path: string) => IMAGES.test(path.toLowerCase())

/** The text of a file. Bytes that are not UTF-8 are replaced, so such a file must not be edited. */
export const textOf = (content: Uint8Array | undefined) => new TextDecoder().decode(content)

/** Whether the text of a file is UTF-8. */
export function isUtf8(content: Uint8Array | undefined): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(content)
    return true
  } catch {
    return false
  }
}

export const bytesOf = (text: string) => new TextEncoder().encode(text)

/** Content of a file as base64. */
export function base64(content: Uint8Array): string {
  let text = ''
  for (let at = 0; at < content.length; at += CHUNK) text += String.fromCharCode(...content.subarray(at, at + CHUNK))
  return btoa(text)
}

/** The files of a theme in an archive, without system files and a common folder. */
export function themeIn(archive: ThemeFiles): Map<string, Uint8Array<ArrayBuffer>> {
  const files = new Map([...archive].filter(([path]) => !LITTER.test(path)))
  const folder = [...files.keys()][0]?.match(/^[^/]+\//)?.[0]
  const isAround = folder && [...files.keys()].every((path) => path.startsWith(folder)) && PAGES.some((page) => files.has(folder + page))
  return isAround ? new Map([...files].map(([path, content]) => [path.slice(folder.length), content])) : files
}

/** Whether two sets of files are equal. */
export function areSame(one: ThemeFiles, other: ThemeFiles): boolean {
  return one.size === other.size && [...one].every(([path, content]) => isSame(content, other.get(path)))
}

function isSame(one: Uint8Array, other: Uint8Array | undefined): boolean {
  return one === other || (one.length === other?.length && one.every((byte, index) => byte === other[index]))
}
