import { admits, modeName } from '@/domain/mode'
import { count, duration, rate as written, wait } from '@/locale'
import type { Mode, QueueStats } from '@/services/types'

import { useLiveTexts } from './texts'

/** What an operator pulls while a sale runs. */
export type Lever =
  | { kind: 'mode'; mode: Mode }
  | { kind: 'quota'; quota: number }
  | { kind: 'rate'; rate: number | null }
  | { kind: 'release'; count: number }

/** What the line is like when a lever is pulled. */
export type Line = Pick<QueueStats, 'waiting' | 'active' | 'quota' | 'mode' | 'wait_seconds'> & {
  /** Most admissions a minute. */
  rate: number | null
}

/** How many an open queue would let in if it had this quota. */
const admitted = ({ waiting, active }: Line, quota: number) => Math.min(waiting, Math.max(0, quota - active))

/** What pulling a lever will do to this line, in sentences. */
export function effects(lever: Lever, line: Line): string[] {
  switch (lever.kind) {
    case 'mode':
      return ofMode(lever.mode, line)
    case 'quota':
      return admits(line.mode) ? ofQuota(lever.quota, line) : [held(line)]
    case 'rate':
      return admits(line.mode) ? ofRate(lever.rate, line) : [held(line)]
    case 'release':
      return ofRelease(lever.count, line)
  }
}

function ofMode(mode: Mode, line: Line): string[] {
  const t = useLiveTexts().value.effects
  switch (mode) {
    case 'open':
      return [opened(line)]
    case 'paused':
      return [t.pauses(line.waiting), t.staysIn(line.active)]
    case 'closed':
      return [t.closes(line.waiting), t.staysIn(line.active)]
    case 'bypass':
      return [t.bypasses(line.waiting)]
    case 'draining':
      return [t.drains(line.waiting), t.staysIn(line.active)]
  }
}

function opened(line: Line): string {
  const t = useLiveTexts().value.effects
  if (line.waiting === 0) return t.opensEmpty
  const next = admitted(line, line.quota)
  return next === 0 ? t.startsFull : t.startsNow(next, line.active + next)
}

function ofQuota(quota: number, line: Line): string[] {
  const t = useLiveTexts().value.effects
  if (quota === 0) return [t.stops, t.staysIn(line.active)]
  if (line.active > quota) return [t.evictsNobody(line.active - quota)]
  if (quota < line.quota) return [t.lowersRoom(quota - line.active)]
  const next = admitted(line, quota)
  if (next === 0) return [t.room(quota - line.active)]
  if (line.rate !== null) return [t.admitsOverTime(next, written(line.rate))]
  return [t.admitsNow(next, line.active + next), ...waits(line)]
}

function ofRate(rate: number | null, line: Line): string[] {
  const t = useLiveTexts().value.effects
  if (rate === null) return [t.noRate]
  return line.waiting > 0 ? [t.rateSlows(line.waiting, duration((line.waiting / rate) * 60))] : [t.opensEmpty]
}

function ofRelease(wanted: number, line: Line): string[] {
  const t = useLiveTexts().value.effects
  const next = Math.min(wanted, line.waiting)
  if (next === 0) return [t.nobodyWaits]
  const above = line.active + next - line.quota
  return [t.admitsNow(next, line.active + next), ...(next < wanted ? [t.fewer(next)] : []), ...(above > 0 ? [t.beyondQuota(above)] : [])]
}

function waits({ waiting, wait_seconds }: Line): string[] {
  return wait_seconds ? [useLiveTexts().value.effects.waitsNow(waiting, wait(wait_seconds.p50))] : []
}

/** A quota and a rate do something where people are let in by the rules only. */
function held({ mode }: Line): string {
  return useLiveTexts().value.effects.modeHolds(modeName(mode))
}

/** The lever's question, its button and what is said once it is pulled. */
export function wording(lever: Lever, released = 0): { title: string; action: string; done: string } {
  const t = useLiveTexts().value
  switch (lever.kind) {
    case 'mode': {
      const name = modeName(lever.mode)
      return { title: t.titles.mode(name), action: t.actions.mode(name), done: t.done.mode(name) }
    }
    case 'quota': {
      const value = count(lever.quota)
      return { title: t.titles.quota(value), action: t.actions.quota(value), done: t.done.quota(value) }
    }
    case 'rate': {
      if (lever.rate === null) return { title: t.titles.noRate, action: t.actions.noRate, done: t.done.rate(t.noLimit) }
      const value = count(lever.rate)
      return { title: t.titles.rate(value), action: t.actions.rate(value), done: t.done.rate(value) }
    }
    case 'release':
      return { title: t.titles.release(lever.count), action: t.actions.release(lever.count), done: t.done.release(released) }
  }
}

/** Whether a lever keeps visitors out, or lets in more than the site was meant to carry. */
export function isDangerous(lever: Lever, line: Line): boolean {
  if (lever.kind === 'mode') return lever.mode === 'closed' || lever.mode === 'bypass'
  if (lever.kind === 'quota') return lever.quota === 0 || lever.quota > line.quota * 2
  return lever.kind === 'release' && line.active + Math.min(lever.count, line.waiting) > line.quota
}
