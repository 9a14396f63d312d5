import { apiUrl, body, client, confirmation, ifMatch } from './client'
import type { PreviewQuery, ThemeDraft, ThemeVersionView } from './types'

/** A file of a theme in an upload. */
export interface ThemeFile {
  path: string
  base64: string
}

export const listThemes = () => body(client.GET('/api/v1/themes'))

/** The revision of a theme, and its versions, newest first. */
export const listVersions = (theme: string) => body(client.GET('/api/v1/themes/{theme}/versions', { params: { path: { theme } } }))

/** A version as a ZIP archive. */
export const downloadVersion = (theme: string, version: string) =>
  body(client.GET('/api/v1/themes/{theme}/versions/{version}/download', { params: { path: { theme, version } }, parseAs: 'arrayBuffer' }))

/** The live files as a ZIP archive. */
export const downloadLive = (theme: string) => body(client.GET('/api/v1/themes/{theme}/download', { params: { path: { theme } }, parseAs: 'arrayBuffer' }))

export const liveUrl = (theme: string) => apiUrl('/api/v1/themes/{theme}/download', { path: { theme } })

export const versionUrl = (theme: string, version: string) => apiUrl('/api/v1/themes/{theme}/versions/{version}/download', { path: { theme, version } })

/** Validates files without storing them. */
export const validateTheme = (theme: string, files: ThemeFile[]) =>
  body(client.POST('/api/v1/themes/{theme}/versions', { params: { path: { theme }, query: { validate: true } }, body: { files } }))

/** Stores files as the newest version. */
export const createVersion = (theme: string, files: ThemeFile[]) =>
  body(client.POST('/api/v1/themes/{theme}/versions', { params: { path: { theme } }, body: { files } })) as Promise<ThemeVersionView>

/** Makes a version live, if the theme still has this revision. */
export const activateVersion = (theme: string, version: string, revision: number) =>
  body(client.POST('/api/v1/themes/{theme}/versions/{version}/activate', { params: { path: { theme, version }, header: ifMatch(revision) } }))

export const deactivateTheme = (theme: string, revision: number) =>
  body(client.POST('/api/v1/themes/{theme}/deactivate', { params: { path: { theme }, header: ifMatch(revision) } }))

/** Removes a theme with all its versions. */
export const removeTheme = (theme: string, token?: string) =>
  body(client.DELETE('/api/v1/themes/{theme}', { params: { path: { theme }, header: confirmation(token) } }))

/** Renders the pages of a draft. */
export const previewDraft = (theme: string, draft: ThemeDraft, signal: AbortSignal) =>
  body(client.POST('/api/v1/themes/{theme}/preview', { params: { path: { theme } }, body: draft, signal }))

/** The URL of a page of a theme with sample data, for a frame. A frame does not say why a page failed, so the page is rendered once before. */
export async function renderPreview(theme: string, query: PreviewQuery, signal: AbortSignal): Promise<string> {
  await client.GET('/api/v1/themes/{theme}/preview', { params: { path: { theme }, query }, parseAs: 'text', signal })
  return apiUrl('/api/v1/themes/{theme}/preview', { path: { theme }, query })
}

/** The page that shows previews in a frame. It is not part of the API document. */
export const PREVIEW_FRAME = '/api/v1/preview-frame'
