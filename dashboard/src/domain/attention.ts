import { defineTexts } from '@/locale'
import type { QueueStats } from '@/services/types'

import { admits } from './mode'

/** Waits longer than this want a look, in seconds. */
export const LONG_WAIT = 30 * 60
/** A line in which nobody has waited for so long has not had the time to move, in seconds. */
const STILL_AFTER = 2 * 60

/** What a queue needs an operator for, the most urgent first. */
export const NEEDS = ['recovering', 'still', 'no_quota', 'over_quota', 'paused', 'long_wait', 'full'] as const
export type Need = (typeof NEEDS)[number]

/** How loud a need is. */
export const TONES: Record<Need, 'bad' | 'warn' | 'plain'> = {
  recovering: 'bad',
  still: 'bad',
  no_quota: 'bad',
  over_quota: 'warn',
  paused: 'warn',
  long_wait: 'warn',
  full: 'plain',
}

/** What it is, in a few words. */
export const useNeedTexts = defineTexts<Record<Need, string>>({
  en: {
    recovering: 'The line was lost and is being taken back',
    still: 'The line does not move',
    no_quota: 'People wait and the quota is 0',
    over_quota: 'More are in than the quota',
    paused: 'People wait and nobody is let in',
    long_wait: 'Long estimated wait',
    full: 'Full',
  },
  de: {
    recovering: 'Die Reihe ging verloren und wird zurückgeholt',
    still: 'Die Reihe bewegt sich nicht',
    no_quota: 'Wartende, aber die Quote ist 0',
    over_quota: 'Mehr drin, als die Quote erlaubt',
    paused: 'Wartende, aber angehalten',
    long_wait: 'Lange erwartete Wartezeit',
    full: 'Voll',
  },
})

/** What a queue needs an operator for, if anything: the most urgent of it. */
export function needOf(stats: QueueStats): Need | undefined {
  const { waiting, active, quota, mode } = stats
  const isOpen = admits(mode)
  if (stats.recovering) return 'recovering'
  if (isOpen && waiting > 0 && quota === 0) return 'no_quota'
  if (isOpen && waiting > 0 && stats.admitted_per_minute === 0 && (stats.oldest_wait_seconds ?? STILL_AFTER) >= STILL_AFTER) return 'still'
  if (active > quota && mode !== 'bypass') return 'over_quota'
  if (mode === 'paused' && waiting > 0) return 'paused'
  if (longest(stats) > LONG_WAIT) return 'long_wait'
  return isOpen && waiting > 0 && active >= quota ? 'full' : undefined
}

/** Sorts by need, then by how many wait. */
export function byNeed(one: QueueStats, other: QueueStats): number {
  return rank(one) - rank(other) || other.waiting - one.waiting || other.active - one.active || one.queue.localeCompare(other.queue)
}

function longest({ wait_seconds, oldest_wait_seconds }: QueueStats): number {
  return Math.max(wait_seconds?.p50 ?? 0, oldest_wait_seconds ?? 0)
}

function rank(stats: QueueStats): number {
  const need = needOf(stats)
  return need ? NEEDS.indexOf(need) : NEEDS.length
}
