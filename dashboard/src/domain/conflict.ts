import { isEqual } from './json'

/** A setting that somebody else changed while this operator was at it. */
export interface ConflictingField {
  field: string
  /** What it was when the operator began. */
  before: unknown
  /** What it is now. */
  theirs: unknown
  /** What the operator wants; absent where they did not change it, or want the isEqual. */
  yours?: unknown
}

/** The revision counts the changes; it is none. */
const NO_SETTING = 'revision'

/** Compares what the operator began with, what they made of it, and what is there now. */
export function conflicts<T extends object>(base: T, mine: T, theirs: T): ConflictingField[] {
  const fields = (Object.keys({ ...base, ...theirs }) as (keyof T & string)[]).filter((field) => field !== NO_SETTING)
  return fields
    .filter((field) => !isEqual(base[field], theirs[field]))
    .map((field) => {
      const change = { field, before: base[field] ?? null, theirs: theirs[field] ?? null }
      const isContested = !isEqual(mine[field], base[field]) && !isEqual(mine[field], theirs[field])
      return isContested ? { ...change, yours: mine[field] ?? null } : change
    })
}
