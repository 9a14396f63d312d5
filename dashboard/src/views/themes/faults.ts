import type { Problem } from '@/services/problem'

/** Something wrong with a theme, and where. */
export interface Fault {
  /** The file; `undefined` for what is wrong with all of them. */
  path?: string
  /** The line, from 1. */
  line?: number
  message: string
}

/** What the server found wrong with a theme: it names a place as `queue.html:12`, and all of it as `.`. */
export function faultsOf(problem: Problem | undefined): Fault[] {
  if (problem?.code !== 'broken_theme') return []
  return problem.errors.map(({ field, message }) => {
    const [, path, line] = /^(.*?)(?::(\d+))?$/.exec(field ?? '') ?? []
    return { ...(path && path !== '.' && { path }), ...(line && { line: Number(line) }), message }
  })
}

/** The place of a fault as the server writes it: `queue.html:12`. */
export const placeOf = ({ path, line }: Fault) => [path, line].filter((it) => it !== undefined).join(':')
