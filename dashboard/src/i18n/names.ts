import type { Problem } from '@/api/problem'
import type { QueueEvent } from '@/api/types'

import { languageName } from './format'
import { t, te } from './i18n'
import { fieldError } from './server-text'

/** The texts for the fields of an event. */
const EVENT_FIELDS: Record<string, string> = { id: 'id', name: 'name', lobby_at: 'lobby', starts_at: 'starts', ends_at: 'ends', order: 'order', beacon: 'beacon', draw_seconds: 'drawSeconds', salt: 'salt', key: 'key' }

/** Name of a queue's mode; an unknown mode is shown as it is. */
export const modeName = (mode: string) => translated(`modes.${mode}.name`, mode)

/** Name of the phase of an event. Visitors in the lobby of a draw are in no line yet. */
export const phaseName = (phase: string, isDrawn: boolean) => t(`events.phases.${isDrawn && phase === 'lobby' ? 'drawLobby' : phase}`)

/** Name of a role. */
export const roleName = (role: string) => translated(`roles.names.${role}`, role)

/** Name of a queue's setting. */
export const fieldName = (field: string) => translated(`fields.${field}.label`, field)

/** Label and hint of a setting's control. */
export function fieldText(field: string): { label: string; hint?: string } {
  const hint = `fields.${field}.hint`
  return { label: fieldName(field), ...(te(hint) && { hint: t(hint) }) }
}

/** Label, hint and error of a setting's control. `path` is the setting in the API, if its text has another name. */
export const fieldProps = (problem: Problem | undefined, field: string, path = field) => ({ ...fieldText(field), error: fieldError(problem, path) })

/** Label of a field by its path in the API, such as that of a setting, `message.de`, or `events[0].starts_at` with the name of the event. */
export function fieldLabel(path: string, events: readonly QueueEvent[] = []): string | undefined {
  const [, language] = /^message\.([\w-]+)$/.exec(path) ?? []
  if (language) return language === 'default' ? t('live.message.title') : `${t('live.message.title')}, ${languageName(language)}`
  const [, index, field = ''] = /^events\[(\d+)\]\.(\w+)$/.exec(path) ?? []
  const event = events[Number(index)]
  const text = EVENT_FIELDS[field]
  if (event && text) return `${event.name ?? event.id}, ${t(`events.${text}`)}`
  return te(`fields.${path}.label`) ? fieldName(path) : undefined
}

/** Name of a setting in a change: `events[sale]` is "event sale". */
export function changedName(field: string): string {
  const [, list = '', id = ''] = /^(\w+)\[([^\]]+)\]$/.exec(field) ?? []
  return te(`audit.entries.${list}`) ? t(`audit.entries.${list}`, { id }) : fieldName(field)
}

function translated(key: string, otherwise: string): string {
  return te(key) ? t(key) : otherwise
}
