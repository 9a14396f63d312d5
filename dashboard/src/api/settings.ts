import { address, send } from './http'
import type { Imported, SettingsDraft } from './types'

/** Where all settings that the operator may see are, as one document. */
export const settingsDocument = (format: 'json' | 'toml') => address('/api/v1/settings', { query: { format } })

/** What importing a document would do. */
export const planImport = (document: SettingsDraft, remove: boolean): Promise<Imported> =>
  send('post', '/api/v1/settings', { body: document, query: { validate: true, remove } })

/** Makes tenants and queues what a document says; with `remove` queues that it does not name are removed. */
export const importSettings = (document: SettingsDraft, remove: boolean, confirm?: string): Promise<Imported> =>
  send('post', '/api/v1/settings', { body: document, query: { remove }, confirm })
