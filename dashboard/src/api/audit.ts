import { apiUrl, body, client } from './client'
import type { paths } from './schema'

/** Filters of the audit log. */
export type AuditSearch = NonNullable<paths['/api/v1/audit']['get']['parameters']['query']>

export const searchAudit = (query: AuditSearch) => body(client.GET('/api/v1/audit', { params: { query } }))

/** The URL of all matching entries as CSV or JSON lines. */
export const auditExportUrl = (query: Omit<AuditSearch, 'limit' | 'before'>, format: 'csv' | 'ndjson') =>
  apiUrl('/api/v1/audit/export', { query: { ...query, format } })
