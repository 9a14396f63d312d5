import { body, client } from './client'
import type { paths } from './schema'

/** Filters of the audit log. */
export type AuditSearch = NonNullable<paths['/api/v1/audit']['get']['parameters']['query']>

export const searchAudit = (query: AuditSearch) => body(client.GET('/api/v1/audit', { params: { query } }))

/** Entries per request of a download: a function sends at most 1 MB. */
const ENTRIES_PER_PART = 1000

/** All matching entries as CSV or JSON lines, requested in parts. */
export async function exportAudit(search: Omit<AuditSearch, 'limit' | 'before'>, format: 'csv' | 'ndjson'): Promise<string[]> {
  const parts: string[] = []
  let before: string | undefined
  do {
    const query = { ...search, format, limit: ENTRIES_PER_PART, before }
    const { data, response } = await client.GET('/api/v1/audit/export', { params: { query }, parseAs: 'text' })
    parts.push(data ?? '')
    before = response.headers.get('x-vestibule-next') ?? undefined
  } while (before !== undefined)
  return parts
}
