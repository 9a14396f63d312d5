import { flattenChanges } from '@/domain/changes'
import { NONE, t, te } from '@/i18n'
import { fieldName } from '@/i18n/names'
import { searchAudit } from '@/api/audit'
import type { AuditEvent } from '@/api/types'

/** A settings change as a mark in the chart. */
export interface Annotation {
  id: string
  /** In seconds since 1970. */
  at: number
  /** Operator and changes. */
  text: string
}

/** Maximum number of audit events that are loaded. */
const ENTRIES_MAX = 200
/** Maximum number of fields in a text. */
const FIELDS_MAX = 3
/** Actions that are marked. */
const ACTIONS = new Set(['queue.update', 'queue.controls', 'queue.drain', 'queue.release', 'queue.reset', 'settings.import'])

/** Audit events with settings changes of a queue since a time. */
export async function readChanges(queue: string, from: number): Promise<AuditEvent[]> {
  const [changes, imports] = await Promise.all(['queue.', 'settings.'].map((action) => searchAudit({ queue, action, from, limit: ENTRIES_MAX })))
  return [...(changes?.events ?? []), ...(imports?.events ?? [])]
}

/** Audit events as annotations, oldest first. Unknown outcomes are marked. */
export function annotationsOf(entries: readonly AuditEvent[]): Annotation[] {
  return entries
    .filter(({ action }) => ACTIONS.has(action))
    .map((entry) => ({ id: entry.id ?? entry.request, at: entry.at ?? 0, text: textOf(entry) }))
    .toSorted((one, other) => one.at - other.at)
}

function textOf({ action, operator, via, changes, outcome }: AuditEvent): string {
  const all = flattenChanges(changes)
  const fields = all.slice(0, FIELDS_MAX).map(({ field, from, to }) => `${fieldName(field)} ${written(from)} → ${written(to)}`)
  const what = fields.length > 0 ? fields.join(', ') + (all.length > FIELDS_MAX ? ', …' : '') : (te(`audit.changes.${action}`) ? t(`audit.changes.${action}`) : action)
  const doubt = outcome && outcome !== 'done' ? ` (${t(`audit.outcomes.${outcome}`)})` : ''
  return `${operator ?? t(`audit.via.${via ?? 'api'}`)}: ${what}${doubt}`
}

function written(value: unknown): string {
  if (value === null || value === undefined || value === '') return NONE
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
