import type { Rule } from '@/api/types'

/** A condition on a header. */
export type HeaderCondition = NonNullable<Rule['header']>

/** What a rule asks of a header. */
export const HEADER_TESTS = ['value', 'number', 'present', 'absent'] as const
export type HeaderTest = (typeof HEADER_TESTS)[number]

/** Actions that classify clients, whatever they request. */
export const classifies = ({ action }: Rule) => action !== 'queue' && action !== 'bypass' && action !== 'hold'

/** What a condition asks of its header. */
export function headerTest(header: HeaderCondition | undefined): HeaderTest {
  if (header?.present !== undefined) return header.present ? 'present' : 'absent'
  return header?.below !== undefined || header?.above !== undefined ? 'number' : 'value'
}

/** The condition on the same header that asks for something else. */
export function withHeaderTest(header: HeaderCondition | undefined, test: HeaderTest): HeaderCondition {
  const name = header?.name ?? ''
  if (test === 'value') return { name, value: header?.value ?? '' }
  return test === 'number' ? { name, below: header?.below ?? 1 } : { name, present: test === 'present' }
}

/** The condition with another bound; without both bounds, zero is the lower one. */
export function withBound(header: HeaderCondition, bound: 'above' | 'below', text: string): HeaderCondition {
  const typed = text.trim() === '' ? undefined : Number(text)
  const [name, above, below] = [header.name, bound === 'above' ? typed : header.above, bound === 'below' ? typed : header.below]
  if (above === undefined && below === undefined) return { name, above: 0 }
  return { name, ...(above !== undefined && { above }), ...(below !== undefined && { below }) }
}

/** Headers of a test by name, from lines such as `cf-bot-score: 20`. */
export function headersOf(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(lines.map((line) => {
    const [name = '', ...value] = line.split(':')
    return [name.trim(), value.join(':').trim()]
  }))
}

/** A rule without its empty conditions, and those that its action does not take. */
export function tidy(rule: Rule): Rule {
  const { action, path, method, header, cookie, source, job_queue, on_failure } = rule
  const takesAll = !classifies(rule)
  return {
    action,
    ...(takesAll && path?.length && { path }),
    ...(takesAll && method?.length && { method }),
    ...(header && (header.name || headerTest(header) !== 'value' || header.value) && { header }),
    ...(takesAll && cookie && (cookie.name || cookie.value) && { cookie }),
    ...(source?.length && { source }),
    ...(action === 'hold' && job_queue && { job_queue }),
    ...(action === 'hold' && on_failure && { on_failure }),
  }
}

/** The rules with one of them moved. */
export function moved(rules: readonly Rule[], from: number, to: number): Rule[] {
  const rest = rules.filter((_, index) => index !== from)
  const rule = rules[from]
  return rule && to >= 0 && to < rules.length ? rest.toSpliced(to, 0, rule) : [...rules]
}
