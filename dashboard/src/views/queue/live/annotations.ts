import { flattenChanges } from '@/domain/changes'
import { NONE, t, te } from '@/i18n'
import { fieldName } from '@/i18n/names'
import { searchAudit } from '@/api/audit'
import type { AuditEvent } from '@/api/types'

/** A change of a queue's settings, as a mark on its history. */
export interface Annotation {
  id: string
  /** In seconds since 1970. */
  at: number
  /** Who changed what. */
  text: string
}

/** Most entries of the audit log that are asked for, the newest first. */
const ENTRIES_MAX = 200
/** Fields that a mark names. */
const FIELDS_MAX = 3
/** Actions that change how a queue runs. */
const ACTIONS = new Set(['queue.update', 'queue.controls', 'queue.drain', 'queue.release', 'queue.reset', 'settings.import'])

/** The settings changes of a queue since a time, by its audit log. */
export async function readChanges(queue: string, from: number): Promise<AuditEvent[]> {
  const [changes, imports] = await Promise.all(['queue.', 'settings.'].map((action) => searchAudit({ queue, action, from, limit: ENTRIES_MAX })))
  return [...(changes?.events ?? []), ...(imports?.events ?? [])]
}

/** Entries as annotations, the oldest first. A change whose outcome is not known says so. */
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
