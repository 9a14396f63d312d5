import { serverText } from '@/i18n/server-text'
import { CODES, type Problem } from '@/api/problem'

/** An error of a theme with its location. */
export interface ThemeError {
  /** The file; `undefined` for errors of the whole theme. */
  path?: string
  /** The line, from 1. */
  line?: number
  message: string
  /** The language of the message if it is not the operator's. */
  lang?: string
}

/** Codes whose messages are always in English. */
const FOREIGN: readonly string[] = ['template_fault', 'theme_unreadable']

/** The errors of a theme. The API locates them as `queue.html:12`, or `.` for the whole theme. */
export function themeErrors(problem: Problem | undefined): ThemeError[] {
  if (problem?.code !== CODES.themeInvalid) return []
  return problem.errors.map((error) => {
    const { field } = error
    const [, path, line] = /^(.*?)(?::(\d+))?$/.exec(field ?? '') ?? []
    const location = { ...(path && path !== '.' && { path }), ...(line && { line: Number(line) }) }
    return { ...location, message: serverText(error, error.detail), ...(FOREIGN.includes(error.code) && { lang: 'en' }) }
  })
}

/** The location of an error: `queue.html:12`. */
export const locationOf = ({ path, line }: ThemeError) => [path, line].filter((it) => it !== undefined).join(':')
