import { serverText } from '@/i18n/server-text'
import { CODES, type Problem } from '@/api/problem'

/** Something wrong with a theme, and where. */
export interface ThemeError {
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
export function themeErrors(problem: Problem | undefined): ThemeError[] {
  if (problem?.code !== CODES.themeInvalid) return []
  return problem.errors.map((error) => {
    const { field } = error
    const [, path, line] = /^(.*?)(?::(\d+))?$/.exec(field ?? '') ?? []
    const place = { ...(path && path !== '.' && { path }), ...(line && { line: Number(line) }) }
    return { ...place, message: serverText(error, error.detail), ...(FOREIGN.includes(error.code) && { lang: 'en' }) }
  })
}

/** The place of a error as the server writes it: `queue.html:12`. */
export const locationOf = ({ path, line }: ThemeError) => [path, line].filter((it) => it !== undefined).join(':')
