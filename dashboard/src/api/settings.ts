import { apiUrl, body, client, confirmation } from './client'
import type { ImportResult, SettingsDraft } from './types'

/** The URL of all visible settings as one document. */
export const settingsUrl = (format: 'json' | 'toml') => apiUrl('/api/v1/settings', { query: { format } })

/** The changes that importing a document would make. */
export const planImport = (document: SettingsDraft, remove: boolean): Promise<ImportResult> =>
  body(client.POST('/api/v1/settings', { params: { query: { validate: true, ...(remove && { remove }) } }, body: document }))

/** Applies a document to tenants and queues; with `remove`, queues that are not in it are removed. */
export const importSettings = (document: SettingsDraft, remove: boolean, token?: string): Promise<ImportResult> =>
  body(client.POST('/api/v1/settings', { params: { query: { ...(remove && { remove }) }, header: confirmation(token) }, body: document }))
