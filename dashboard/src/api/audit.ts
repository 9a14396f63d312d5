import { address, send, type Request } from './http'
import type { paths } from './schema'

/** What to look for in the audit log. */
export type AuditSearch = NonNullable<Request<paths['/api/v1/audit']['get']>['query']>

export const searchAudit = (query: AuditSearch) => send('get', '/api/v1/audit', { query })

/** Where all entries that a search finds are, as a table or as lines of JSON. */
export const auditExport = (query: Omit<AuditSearch, 'limit' | 'before'>, format: 'csv' | 'ndjson') =>
  address('/api/v1/audit/export', { query: { ...query, format } })
