import type { components } from '@/services/schema'

import { count } from '../format'

export type PhraseCode = components['schemas']['PhraseCode']
type Param = number | string | Phrase

/** Something that the server says: which sentence, and what stands in its gaps. It may be one that this dashboard does not know. */
export interface Phrase {
  code: string
  params?: Record<string, Param>
}

/** How a phrase is said: with its gaps, such as `{most}`, or by a function where words bend with what stands in them. */
export type Words = string | ((gap: (name: string) => string, number: (name: string) => number) => string)

/** How the server's phrases are said in one language. */
export type Saying = Partial<Record<PhraseCode, Words>>

/** A phrase in the words of a language; `undefined` if a part of it is not known there. */
export function fill({ code, params = {} }: Phrase, saying: Saying): string | undefined {
  const words = (saying as Partial<Record<string, Words>>)[code]
  const filled = Object.entries(params).map(([name, param]) => [name, told(param, saying)] as const)
  if (words === undefined || filled.some(([, text]) => text === undefined)) return undefined
  const gaps: Record<string, string | undefined> = Object.fromEntries(filled)
  const gap = (name: string) => gaps[name] ?? ''
  if (typeof words === 'string') return words.replace(/\{([a-z_]+)\}/g, (_, name: string) => gap(name))
  return words(gap, (name) => Number(params[name]))
}

function told(param: Param, saying: Saying): string | undefined {
  if (typeof param === 'number') return count(param)
  return typeof param === 'string' ? param : fill(param, saying)
}
