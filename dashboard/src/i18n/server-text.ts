import { CODES, type Problem } from '@/api/problem'
import { UNREADABLE_NUMBER } from '@/domain/json'

import { count, duration } from './format'
import { locale, t, te } from './i18n'

/** A message of the server: a code and its parameters, which may be messages themselves. */
export interface ServerMessage {
  code: string
  params?: Record<string, number | string | ServerMessage>
}

/** A message in the operator's language, or the server's English if the catalog lacks it. */
export function serverText(message: ServerMessage | undefined, english: string): string {
  return (message && translate(message)) ?? english
}

/** The same as a sentence. */
export function serverSentence(message: ServerMessage | undefined, english: string): string {
  const text = serverText(message, english)
  return `${text.charAt(0).toLocaleUpperCase(locale.value)}${text.slice(1)}${/[.!?…]$/.test(text) ? '' : '.'}`
}

/** Text of a problem. */
export function problemText(problem: Problem): string {
  if (problem.code === 'unreachable') return t('problems.unreachable')
  if (problem.message) return serverSentence(problem, problem.message)
  return problem.code === CODES.tooLarge ? t('problems.tooLarge') : t('problems.unexpected')
}

/** The error of a field or of a part of it. */
export function fieldError(problem: Problem | undefined, field: string): string | undefined {
  const found = problem?.errorOf(field)
  return found && serverSentence(found, found.detail)
}

/** The error of a new ID, also if it is taken. */
export function idError(problem: Problem | undefined, field = 'id'): string | undefined {
  return problem?.code === CODES.alreadyExists ? problemText(problem) : fieldError(problem, field)
}

/** The path of a field with list entries counted from 1, not from 0 as in the API. */
export function fieldPath(field: string): string {
  return field.replace(/\[(\d+)\]/g, (_, index: string) => `[${Number(index) + 1}]`)
}

function translate({ code, params = {} }: ServerMessage): string | undefined {
  // The operator did not type what was sent.
  if (code === 'invalid_value' && params.given === JSON.stringify(UNREADABLE_NUMBER)) return numberText(params.what)
  const key = `api.${code}`
  if (!te(key)) return undefined
  const named = Object.entries(params).map(([name, value]) => [name, format(name, value)] as const)
  return named.some(([, text]) => text === undefined) ? undefined : t(key, Object.fromEntries(named))
}

/** What a field accepts. A form shows beside the field that it can be empty, which is "none" in the API. */
function numberText(what: number | string | ServerMessage | undefined): string | undefined {
  if (typeof what !== 'object') return undefined
  if (what.code === 'or_none') return numberText(what.params?.what)
  const wanted = translate(what)
  return wanted && t('problems.unreadableNumber', { what: wanted })
}

function format(name: string, value: number | string | ServerMessage): string | undefined {
  if (typeof value === 'object') return translate(value)
  // The only field of the API that a parameter names in the dashboard.
  if (name === 'name' && value === 'group_id') return t('jobs.group')
  if (typeof value === 'string') return value
  if (name === 'seconds') return duration(value)
  return count(value)
}
