import { isEqual } from './json'

/** A setting that was changed by someone else during editing. */
export interface ConflictingField {
  field: string
  /** The value when editing started. */
  before: unknown
  /** The current value. */
  theirs: unknown
  /** The operator's value; absent if unchanged or equal to the current one. */
  yours?: unknown
}

/** The revision is not a setting. */
const NO_SETTING = 'revision'

/** Compares the base, the operator's draft and the current settings. */
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

/** The current values with the changes of the operator. Of the fields that both changed, the operator's values of `kept` stay. */
export function merged<T extends object>(base: T, mine: T, theirs: T, kept: readonly string[]): T {
  const given = conflicts(base, mine, theirs).filter((it) => 'yours' in it && !kept.includes(it.field)).map(({ field }) => field)
  const own = (Object.keys({ ...base, ...mine }) as (keyof T & string)[]).filter((field) => !given.includes(field) && !isEqual(base[field], mine[field]))
  const result = { ...theirs }
  for (const field of own) {
    if (field in mine) result[field] = mine[field]
    else Reflect.deleteProperty(result, field)
  }
  return result
}
