import { unzip } from '@/domain/archive'
import { themeIn, type ThemeFiles } from '@/domain/theme-files'

/** Selected or dropped files. */
export type Upload =
  /** An archive with a whole theme. */
  | { kind: 'archive'; name: string; files: ThemeFiles }
  /** Single files. */
  | { kind: 'files'; files: ThemeFiles }
  /** An archive that can't be read. */
  | { kind: 'unreadable'; name: string }

/** Reads the first archive, or else all files. */
export async function readUpload(list: readonly File[]): Promise<Upload> {
  const archive = list.find(({ name, type }) => /\.zip$/i.test(name) || type === 'application/zip')
  if (!archive) {
    return { kind: 'files', files: new Map(await Promise.all(list.map(async (file) => [file.name, await contentOf(file)] as const))) }
  }
  try {
    return { kind: 'archive', name: archive.name, files: themeIn(await unzip(await archive.arrayBuffer())) }
  } catch {
    return { kind: 'unreadable', name: archive.name }
  }
}

async function contentOf(file: File): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await file.arrayBuffer())
}
