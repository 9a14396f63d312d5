import { flattenChanges } from '@/domain/changes'
import { drawEndOf, lobbyOf, secondsOf } from '@/domain/events'
import { shownName } from '@/domain/shown-name'
import { count, settingValue, t, te } from '@/i18n'
import { changedName, phaseName } from '@/i18n/names'
import { searchAudit } from '@/api/audit'
import type { AuditEvent, FieldChange, QueueEvent, QueueStats } from '@/api/types'

/** A change of the queue, or the beginning of a phase of an event, as a mark in the chart. */
export interface Annotation {
  id: string
  /** In seconds since 1970. */
  at: number
  kind: 'change' | 'phase'
  /** Operator and changes, or event and phase. */
  text: string
}

/** Maximum number of audit events per page, and of pages that are loaded: a page can be empty although more follow. */
const ENTRIES_MAX = 200
const PAGES_MAX = 5
/** Maximum number of fields in a text. */
const FIELDS_MAX = 3
/** Actions that are marked. */
const ACTIONS = new Set(['queue.update', 'queue.controls', 'queue.drain', 'queue.release', 'queue.reset', 'settings.import'])

/** Audit events with changes of a queue since a time. */
export async function readChanges(queue: string, from: number): Promise<AuditEvent[]> {
  return (await Promise.all(['queue.', 'settings.'].map((action) => readPages(queue, action, from)))).flat()
}

async function readPages(queue: string, action: string, from: number): Promise<AuditEvent[]> {
  const found: AuditEvent[] = []
  let before: string | undefined
  for (let page = 0; page < PAGES_MAX && found.length < ENTRIES_MAX; page += 1) {
    const { events, next } = await searchAudit({ queue, action, from, limit: ENTRIES_MAX, ...(before && { before }) })
    found.push(...events)
    if (!next) break
    before = next
  }
  return found
}

/**
 * The phases of events as annotations, oldest first. Suspended events have none, a draw without the value of its beacon does not run, and nothing
 * happened before an event was added or while the queue did not follow its events, as far as these changes and its present mode tell.
 */
export function phasesOf(events: readonly QueueEvent[], { queue, name, mode }: Pick<QueueStats, 'queue' | 'name' | 'mode'>, changes: readonly AuditEvent[] = []): Annotation[] {
  const added = additionsIn(changes)
  const modeAt = modesIn(changes, mode)
  const phases = events.filter(({ suspended }) => !suspended).flatMap((event) =>
    ([
      ['lobby', lobbyOf(event)],
      ...(event.order === 'draw' ? [['draw', secondsOf(event.starts_at)] as const] : []),
      ...(drawEndOf(event) < secondsOf(event.ends_at) ? [['running', drawEndOf(event)] as const] : []),
      ['ending', secondsOf(event.ends_at)],
    ] as const).map(([phase, at]) =>
      ({ id: `${event.id} ${phase}`, at, kind: 'phase' as const, text: `${shownName(event.name ?? name, queue)}: ${phaseName(phase, event.order !== 'arrival')}` }))
      .filter(({ at }) => at >= (added(event.id) ?? 0) && modeAt(at) === 'scheduled'))
  return phases.toSorted((one, other) => one.at - other.at)
}

/** When an event was last added by these changes, in seconds since 1970: those of the queue by its ID, or all with the queue. */
function additionsIn(changes: readonly AuditEvent[]): (event: string) => number | undefined {
  const added = new Map<string, number>()
  let created: number | undefined
  for (const { action, at = 0, changes: fields } of changes.toSorted((one, other) => (one.at ?? 0) - (other.at ?? 0))) {
    if (action === 'queue.create') created = at
    const { from, to } = fields.find(({ field }) => field === 'events') ?? {}
    const [before, after] = [idsIn(from ?? []), idsIn(to)]
    if (before) after?.filter((id) => !before.includes(id)).forEach((id) => added.set(id, at))
    // Of a long list, each added event is a change.
    fields.filter((part) => /^events\.[^.]+$/.test(part.field) && part.from === null).forEach(({ field }) => added.set(field.slice('events.'.length), at))
  }
  return (event) => added.get(event) ?? created
}

/** The mode at a time: that before the next of these changes, or the present one. */
function modesIn(changes: readonly AuditEvent[], present: string): (at: number) => unknown {
  const befores = changes.flatMap(({ at = 0, changes: fields }) => fields.filter(({ field }) => field === 'mode').map(({ from }) => ({ at, from })))
    .toSorted((one, other) => one.at - other.at)
  return (at) => (befores.find((change) => change.at > at) ?? { from: present }).from
}

/** The IDs of the events in a change; `undefined` if the log has cut it. */
const idsIn = (value: unknown) => (Array.isArray(value) ? (value as QueueEvent[]).map(({ id }) => id) : undefined)

/** Audit events as annotations, oldest first. Unknown outcomes are marked. */
export function annotationsOf(entries: readonly AuditEvent[]): Annotation[] {
  return entries
    .filter(({ action }) => ACTIONS.has(action))
    .map((entry) => ({ id: entry.id ?? entry.request, at: entry.at ?? 0, kind: 'change' as const, text: textOf(entry) }))
    .toSorted((one, other) => one.at - other.at)
}

function textOf(entry: AuditEvent): string {
  const { action, operator, via, changes, outcome } = entry
  const all = flattenChanges(changes)
  const fields = all.slice(0, FIELDS_MAX).map(changeText)
  const what = effectOf(entry) ?? (fields.length > 0 ? fields.join(', ') + (all.length > FIELDS_MAX ? ', …' : '') : (te(`audit.changes.${action}`) ? t(`audit.changes.${action}`) : action))
  const doubt = outcome && outcome !== 'done' ? ` (${t(`audit.outcomes.${outcome}`)})` : ''
  return `${operator ?? t(`audit.via.${via ?? 'api'}`)}: ${what}${doubt}`
}

/** What a release or a reset did: their numbers are no settings with a value before. */
function effectOf({ action, changes }: AuditEvent): string | undefined {
  const number = (field: string) => Number(changes.find((change) => change.field === field)?.to ?? NaN)
  const [released, waiting, active] = [number('released'), number('waiting'), number('active')]
  if (action === 'queue.release' && !Number.isNaN(released)) return t('live.marks.release', { visitors: t('count.visitors', { count: count(released) }, released) })
  if (action === 'queue.reset' && !Number.isNaN(waiting)) return t('live.marks.reset', { waiting: count(waiting), active: count(active) })
  return undefined
}

/** A change in short. Of an entry of a list, the name says enough. */
function changeText({ field, from, to }: FieldChange): string {
  const what = changedName(field)
  if (field.endsWith(']') && (from === null || to === null)) return from === null ? t('live.marks.added', { what }) : t('live.marks.removed', { what })
  return `${what} ${settingValue(from)} → ${settingValue(to)}`
}
