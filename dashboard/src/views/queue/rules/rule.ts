import type { Rule } from '@/api/types'

/** A rule without its empty conditions. */
export function tidy({ action, path, method, header, cookie, source }: Rule): Rule {
  return {
    action,
    ...(path?.length && { path }),
    ...(method?.length && { method }),
    ...(header && (header.name || header.value) && { header }),
    ...(cookie && (cookie.name || cookie.value) && { cookie }),
    ...(source?.length && { source }),
  }
}

/** The rules with one of them moved. */
export function moved(rules: readonly Rule[], from: number, to: number): Rule[] {
  const rest = rules.filter((_, index) => index !== from)
  const rule = rules[from]
  return rule && to >= 0 && to < rules.length ? rest.toSpliced(to, 0, rule) : [...rules]
}
