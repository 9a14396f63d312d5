import { admits } from '@/domain/modes'
import { count, duration, t, wait } from '@/i18n'
import { modeName } from '@/i18n/names'
import type { Mode, QueueStats } from '@/api/types'

/** A change that an operator is about to make. */
export type Control =
  | { kind: 'mode'; mode: Mode }
  | { kind: 'quota'; quota: number }
  | { kind: 'rate'; rate: number | null }
  | { kind: 'release'; count: number }

/** The state of a line at the time of a change. */
export type Line = Pick<QueueStats, 'waiting' | 'active' | 'quota' | 'mode' | 'wait_seconds'> & {
  /** Maximum admissions per minute. */
  rate: number | null
}

/** `3 visitors` */
const visitors = (n: number) => t('count.visitors', { count: count(n) }, n)

/** How many visitors an open queue would admit with this quota. */
const admitted = ({ waiting, active }: Line, quota: number) => Math.min(waiting, Math.max(0, quota - active))

/** The effects of a change as sentences. */
export function effects(control: Control, line: Line): string[] {
  switch (control.kind) {
    case 'mode':
      return modeEffects(control.mode, line)
    case 'quota':
      return admits(line.mode) ? quotaEffects(control.quota, line) : [deferred(line)]
    case 'rate':
      return admits(line.mode) ? rateEffects(control.rate, line) : [deferred(line)]
    case 'release':
      return releaseEffects(control.count, line)
  }
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
      return [t('live.effects.bypasses', waiting)]
    case 'draining':
      return [t('live.effects.drains', waiting, line.waiting), remaining]
  }
}

function openEffect(line: Line): string {
  if (line.waiting === 0) return t('live.effects.opensEmpty')
  const next = admitted(line, line.quota)
  return next === 0 ? t('live.effects.startsFull') : t('live.effects.startsNow', { visitors: visitors(next), active: count(line.active + next) })
}

function quotaEffects(quota: number, line: Line): string[] {
  if (quota === 0) return [t('live.effects.stops'), t('live.effects.activeContinue', { count: count(line.active) }, line.active)]
  if (line.active > quota) return [t('live.effects.overQuota', { active: visitors(line.active), over: count(line.active - quota) }, line.active)]
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
    ...(above > 0 ? [t('live.effects.aboveQuota', { count: count(above) })] : []),
  ]
}

function currentWait({ waiting, wait_seconds }: Line): string[] {
  return wait_seconds ? [t('live.effects.currentWait', { count: count(waiting), wait: wait(wait_seconds.p50) }, waiting)] : []
}

/** Quota and rate take effect only in modes that admit visitors. */
function deferred({ mode }: Line): string {
  return t('live.effects.deferred', { mode: modeName(mode) })
}

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
  }
}

/** Whether a change blocks visitors or may exceed the capacity of the site. */
export function isDangerous(control: Control, line: Line): boolean {
  if (control.kind === 'mode') return control.mode === 'closed' || control.mode === 'bypass'
  if (control.kind === 'quota') return control.quota === 0 || control.quota > line.quota * 2
  return control.kind === 'release' && line.active + Math.min(control.count, line.waiting) > line.quota
}
