import { address, bytes, send } from './http'
import type { ThemeState, ThemeVersionView } from './types'

/** A file of a theme as it is uploaded. */
export interface ThemeFile {
  path: string
  base64: string
}

/** What is drawn of files that are not kept. */
export interface Sketch {
  templates: { path: string; text: string }[]
  /** Paths of the other files. */
  assets: string[]
  states: ThemeState[]
  language: string
}

export const listThemes = () => send('get', '/api/v1/themes')

/** The versions of a theme, the newest first. */
export const listVersions = (theme: string) => send('get', '/api/v1/themes/{theme}/versions', { path: { theme } })

/** A version as a ZIP archive. */
export const readArchive = (theme: string, version: string) =>
  bytes('/api/v1/themes/{theme}/versions/{version}/archive', { path: { theme, version } })

/** What visitors see as a ZIP archive, published here or put there by hand. */
export const readLive = (theme: string) => bytes('/api/v1/themes/{theme}/archive', { path: { theme } })

/** Where that archive is, to download it. */
export const liveArchiveAddress = (theme: string) => address('/api/v1/themes/{theme}/archive', { path: { theme } })

/** Where the archive of a version is, to download it. */
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

/** Takes what visitors see of a theme away. */
export const unpublishTheme = (theme: string) => send('post', '/api/v1/themes/{theme}/unpublish', { path: { theme } })

/** Removes a theme with all its versions. */
export const removeTheme = (theme: string, confirm?: string) =>
  send('delete', '/api/v1/themes/{theme}', { path: { theme }, confirm })

/** The pages of files as they are written so far; nothing of them is kept. */
export const drawSketch = (theme: string, sketch: Sketch, signal: AbortSignal) =>
  send('post', '/api/v1/themes/{theme}/preview', { path: { theme }, body: sketch, signal })

/** Where the page is that draws previews in a frame. It is no operation: a program has no use for it. */
export const PREVIEW_FRAME = '/api/v1/preview-frame'
