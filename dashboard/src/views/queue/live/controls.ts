import { currentEvent, idleMode, phaseOf, secondsOf } from '@/domain/events'
import { admits } from '@/domain/modes'
import { shownName } from '@/domain/shown-name'
import { count, dateTime, duration, languageName, t, wait } from '@/i18n'
import { modeName } from '@/i18n/names'
import type { EventStats, MessagePatch, Mode, OperatorMessage, QueueSettings, QueueStats } from '@/api/types'

/** Maximum length of an operator message in characters. */
export const MESSAGE_MAX = 280
/** Languages of the queue page, for which a message can have a text of its own. */
export const LANGUAGES = ['ar', 'cy', 'de', 'en', 'es', 'fr', 'it', 'ja', 'ko', 'nl', 'pl', 'pt', 'tr', 'zh-Hans', 'zh-Hant'] as const

/** A change that an operator is about to make. */
export type Control =
  | { kind: 'mode'; mode: Mode }
  | { kind: 'quota'; quota: number }
  | { kind: 'rate'; rate: number | null }
  | { kind: 'release'; count: number }
  | { kind: 'message'; message: OperatorMessage | null; before: OperatorMessage | null }

/** The state of a line at the time of a change. */
export type Line = Pick<QueueStats, 'waiting' | 'active' | 'quota' | 'mode' | 'wait_seconds' | 'event'> & {
  /** Maximum admissions per minute. */
  rate: number | null
  /** The mode between events, if no event would take place now with the mode `scheduled`. */
  idleMode?: Mode
  /** The event that would take place with the mode `scheduled`, if it does not admit visitors yet. */
  ahead?: Pick<EventStats, 'name' | 'phase' | 'starts_at'>
}

/** The state of the line of a queue at a time, in seconds since 1970. */
export function lineOf(settings: QueueSettings, stats: QueueStats, now: number): Line {
  const [event, idle] = [currentEvent(settings, now, stats.waiting), idleMode(settings, now, stats.waiting)]
  const phase = event && phaseOf(event, now)
  const ahead = event && (phase === 'lobby' || phase === 'draw') ? { name: shownName(event.name ?? settings.name, settings.id), phase, starts_at: secondsOf(event.starts_at) } : undefined
  return { ...stats, mode: stats.effective_mode, rate: settings.admissions_per_minute, idleMode: idle, ahead }
}

/** `3 visitors` */
const visitors = (n: number) => t('count.visitors', { count: count(n) }, n)

/** How many visitors an open queue would admit with this quota. */
const admitted = ({ waiting, active }: Line, quota: number) => Math.min(waiting, Math.max(0, quota - active))

/** The effects of a change as sentences. */
export function effects(control: Control, line: Line): string[] {
  switch (control.kind) {
    case 'mode':
      return [...modeEffects(control.mode, line), ...lobbyEffects(control.mode, line)]
    case 'quota':
      return admits(line.mode) ? quotaEffects(control.quota, line) : [deferred(line)]
    case 'rate':
      return admits(line.mode) ? rateEffects(control.rate, line) : [deferred(line)]
    case 'release':
      return releaseEffects(control.count, line)
    case 'message':
      return messageEffects(control.message, line)
  }
}

/** The length of a message as the API counts it. */
export const messageLength = (text: string) => [...text.trim()].length

/** A pasted text with spaces in place of its line breaks, which the API refuses. */
export const oneLine = (text: string) => text.replace(/\s*[\r\n\u2028\u2029]\s*/g, ' ')

/** The merge patch that changes the message: languages that are no longer there are removed. */
export function messagePatch(message: OperatorMessage | null, before: OperatorMessage | null): MessagePatch {
  if (!message) return null
  const removed = Object.keys(before ?? {}).filter((tag) => !(tag in message))
  return { ...Object.fromEntries(removed.map((tag) => [tag, null])), ...message }
}

/** How many visitors see the operator message: those who wait in line or for a draw. */
export function messageReaders({ waiting, mode, event }: Pick<Line, 'waiting' | 'mode' | 'event'>): number {
  // Nobody sees a queue page while everyone passes.
  if (mode === 'bypass') return 0
  const isBeforeDraw = event?.phase === 'lobby' || event?.awaits_beacon
  return waiting + (isBeforeDraw ? (event?.lobby_tickets ?? 0) : 0)
}

function messageEffects(message: OperatorMessage | null, line: Line): string[] {
  const readers = messageReaders(line)
  const seen = { count: count(readers) }
  if (!message) return [t('live.effects.removesMessage', seen, readers)]
  const texts = Object.entries(message).map(([tag, text]) => (tag === 'default' ? t('live.effects.text', { text }) : `${languageName(tag)}: ${t('live.effects.text', { text })}`))
  return [line.mode === 'bypass' ? deferredMessage(line) : t('live.effects.showsMessage', seen, readers), ...texts]
}

function modeEffects(mode: Mode, line: Line): string[] {
  const waiting = { count: count(line.waiting) }
  const remaining = t('live.effects.activeContinue', { count: count(line.active) }, line.active)
  switch (mode) {
    case 'open':
      return [openEffect(line)]
    case 'paused':
      return [t('live.effects.pauses', waiting, line.waiting), remaining]
    case 'closed':
      return [t('live.effects.closes', waiting, line.waiting), remaining]
    case 'bypass':
      return [t('live.effects.bypasses', waiting, line.waiting)]
    case 'scheduled':
      return [t('live.effects.follows'), ...(line.idleMode ? modeEffects(line.idleMode, line) : [...aheadEffects(line), remaining])]
    case 'draining':
      return [t('live.effects.drains', waiting, line.waiting), remaining]
  }
}

/** What an event does before its admissions begin. */
function aheadEffects({ ahead, waiting }: Line): string[] {
  if (!ahead) return []
  const named = { count: count(waiting), event: eventName(ahead), time: dateTime(ahead.starts_at) }
  return [ahead.phase === 'draw' ? t('live.effects.heldUntilDrawn', named, waiting) : t('live.effects.heldUntilStart', named, waiting)]
}

/** What a mode does to an open lobby: the draw takes place, but newcomers join in order of arrival meanwhile. */
function lobbyEffects(mode: Mode, { event }: Line): string[] {
  if (mode === 'scheduled' || event?.phase !== 'lobby' || typeof event.lobby_tickets !== 'number') return []
  const tickets = { count: count(event.lobby_tickets) }
  return [mode === 'open' ? t('live.effects.opensLobby', tickets, event.lobby_tickets) : t('live.effects.overridesLobby', tickets, event.lobby_tickets)]
}

function openEffect(line: Line): string {
  if (line.quota === 0) return t('live.whatIf.nobody')
  if (line.waiting === 0) return t('live.effects.opensEmpty')
  if (line.active > line.quota) return t('live.effects.startsOverQuota', { active: visitors(line.active), over: count(line.active - line.quota) })
  const next = admitted(line, line.quota)
  if (next === 0) return t('live.effects.startsFull')
  if (line.rate !== null) return t('live.effects.admitsOverTime', { visitors: visitors(next), rate: count(line.rate) })
  return t('live.effects.startsNow', { visitors: visitors(next), active: count(line.active + next) })
}

function quotaEffects(quota: number, line: Line): string[] {
  if (quota === 0) return [t('live.effects.stops'), t('live.effects.activeContinue', { count: count(line.active) }, line.active)]
  if (line.active > quota) return [t('live.effects.overQuota', { active: visitors(line.active), over: count(line.active - quota) })]
  if (quota < line.quota) return [t('live.effects.lessRoom', { visitors: visitors(quota - line.active) })]
  const next = admitted(line, quota)
  if (next === 0) return [t('live.effects.room', { visitors: visitors(quota - line.active) })]
  if (line.rate !== null) return [t('live.effects.admitsOverTime', { visitors: visitors(next), rate: count(line.rate) })]
  return [t('live.effects.admitsNow', { visitors: visitors(next), active: count(line.active + next) }), ...currentWait(line)]
}

function rateEffects(rate: number | null, line: Line): string[] {
  if (rate === null) return [t('live.effects.noRate')]
  if (line.waiting === 0) return [t('live.effects.opensEmpty')]
  return [t('live.effects.rateLimits', { visitors: visitors(line.waiting), time: duration((line.waiting / rate) * 60) })]
}

function releaseEffects(requested: number, line: Line): string[] {
  const next = Math.min(requested, line.waiting)
  if (next === 0) return [t('live.effects.lineEmpty')]
  const above = line.active + next - line.quota
  return [
    t('live.effects.admitsNow', { visitors: visitors(next), active: count(line.active + next) }),
    ...(next < requested ? [t('live.effects.fewer', { count: count(next) }, next)] : []),
    ...(above > 0 ? [admits(line.mode) ? t('live.effects.aboveQuota', { count: count(above) }) : t('live.effects.aboveQuotaOnly', { count: count(above) })] : []),
  ]
}

function currentWait({ waiting, wait_seconds }: Line): string[] {
  return wait_seconds ? [t('live.effects.currentWait', { count: count(waiting), wait: wait(wait_seconds.p50) }, waiting)] : []
}

/** Quota and rate take effect only in modes that admit visitors. A scheduled queue admits them by itself. */
function deferred({ mode, event }: Pick<Line, 'mode' | 'event'>): string {
  if (!event) return t('live.effects.deferred', { mode: modeName(mode) })
  if (event.phase === 'draw') return t('live.effects.deferredToDraw', { event: eventName(event) })
  if (!event.starts_at) return t('live.effects.deferredToEvent')
  return t('live.effects.deferredToStart', { event: eventName(event), time: dateTime(event.starts_at) })
}

/** A message is seen as soon as visitors wait. */
function deferredMessage(line: Pick<Line, 'mode' | 'event'>): string {
  const { event } = line
  if (!event?.lobby_at) return deferred(line)
  return t('live.effects.deferredToLobby', { event: eventName(event), time: dateTime(event.lobby_at) })
}

const eventName = ({ name, id }: Pick<EventStats, 'name' | 'id'>) => name ?? id ?? ''

/** Title and button of the dialog, and the message once the change was made. */
export function controlTexts(control: Control, released = 0): { title: string; action: string; done: string } {
  const texts = (kind: string, named: Record<string, string> = {}) => ({
    title: t(`live.titles.${kind}`, named),
    action: t(`live.actions.${kind}`, named),
    done: t(`live.done.${kind}`, named),
  })
  switch (control.kind) {
    case 'mode':
      return texts('mode', { mode: modeName(control.mode) })
    case 'quota':
      return texts('quota', { value: count(control.quota) })
    case 'rate':
      return control.rate === null ? texts('noRate') : texts('rate', { value: count(control.rate) })
    case 'release':
      return { ...texts('release', { visitors: visitors(control.count) }), done: t('live.done.release', { visitors: visitors(released) }) }
    case 'message':
      return texts(control.message ? 'message' : 'noMessage')
  }
}

/** Whether a mode blocks all visitors or lets all of them pass. */
export const isDrastic = (mode: Mode | undefined) => mode === 'closed' || mode === 'bypass'

/** Whether a change stops admissions until an event, blocks visitors, or may exceed the capacity of the site. */
export function isDangerous(control: Control, line: Line): boolean {
  if (control.kind === 'mode' && control.mode === 'scheduled') return isDrastic(line.idleMode) || (line.ahead !== undefined && (admits(line.mode) || line.mode === 'bypass'))
  if (control.kind === 'mode') return lobbyEffects(control.mode, line).length > 0 || isDrastic(control.mode)
  if (control.kind === 'quota') return control.quota === 0 || control.quota > line.quota * 2
  return control.kind === 'release' && line.active + Math.min(control.count, line.waiting) > line.quota
}
