import { serverText } from '@/i18n/server-text'
import type { Problem } from '@/services/problem'

/** Something wrong with a theme, and where. */
export interface Fault {
  /** The file; `undefined` for what is wrong with all of them. */
  path?: string
  /** The line, from 1. */
  line?: number
  message: string
  /** The language of the message, where it is not the operator's. */
  lang?: string
}

/** Faults that the server has from elsewhere, in English. */
const FOREIGN: readonly string[] = ['template_fault', 'theme_unreadable']

/** What the server found wrong with a theme: it names a place as `queue.html:12`, and all of it as `.`. */
export function faultsOf(problem: Problem | undefined): Fault[] {
  if (problem?.code !== 'broken_theme') return []
  return problem.errors.map((error) => {
    const { field } = error
    const [, path, line] = /^(.*?)(?::(\d+))?$/.exec(field ?? '') ?? []
    const place = { ...(path && path !== '.' && { path }), ...(line && { line: Number(line) }) }
    return { ...place, message: serverText(error, error.message), ...(FOREIGN.includes(error.code) && { lang: 'en' }) }
  })
}

/** The place of a fault as the server writes it: `queue.html:12`. */
export const placeOf = ({ path, line }: Fault) => [path, line].filter((it) => it !== undefined).join(':')
