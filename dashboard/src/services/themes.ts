import { address, bytes, send } from './http'
import type { ThemeVersionView } from './types'

/** A file of a theme as it is uploaded. */
export interface ThemeFile {
  path: string
  base64: string
}

/** What a preview shows. */
export interface PreviewOf {
  /** What is live, without it. */
  version?: string
  state: string
  language: string
}

export const listThemes = () => send('get', '/api/v1/themes')

/** The versions of a theme, the newest first. */
export const listVersions = (theme: string) => send('get', '/api/v1/themes/{theme}/versions', { path: { theme } })

/** A version as a ZIP archive. */
export const readArchive = (theme: string, version: string) =>
  bytes('/api/v1/themes/{theme}/versions/{version}/archive', { path: { theme, version } })

/** Where that archive is, to download it. */
export const archiveAddress = (theme: string, version: string) =>
  address('/api/v1/themes/{theme}/versions/{version}/archive', { path: { theme, version } })

/** Says whether files work as a theme, and keeps nothing. */
export const checkTheme = (theme: string, files: ThemeFile[]) =>
  send('post', '/api/v1/themes/{theme}/versions', { path: { theme }, query: { validate: true }, body: { files } })

/** Keeps files as the newest version, which visitors see once it is published. */
export const uploadTheme = (theme: string, files: ThemeFile[]) =>
  send('post', '/api/v1/themes/{theme}/versions', { path: { theme }, body: { files } }) as Promise<ThemeVersionView>

/** Makes a version what visitors see. */
export const publishVersion = (theme: string, version: string) =>
  send('post', '/api/v1/themes/{theme}/versions/{version}/publish', { path: { theme, version } })

/** Where a preview is, for a frame. */
export const previewAddress = (theme: string, of: PreviewOf) =>
  address('/api/v1/themes/{theme}/preview', { path: { theme }, query: of })

/** Whether there is a preview: a frame can't tell a page from the reason why there is none. */
export const tryPreview = (theme: string, of: PreviewOf) =>
  bytes('/api/v1/themes/{theme}/preview', { path: { theme }, query: of })
