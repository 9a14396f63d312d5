/** Sent instead of a number that cannot be read: NaN would become null, which is a valid value. The API rejects a text. */
export const UNREADABLE_NUMBER = 'not a number'

/** Whether two JSON values are equal. The order of members is ignored; `null` equals a missing member. */
export function isEqual(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return (one ?? null) === (other ?? null)
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const [first, second] = [one as Record<string, unknown>, other as Record<string, unknown>]
  return [...new Set([...Object.keys(first), ...Object.keys(second)])].every((name) => isEqual(first[name], second[name]))
}

/** A deep copy of a JSON value that keeps NaN, unlike `JSON.stringify`. */
export function deepCopy<T>(value: T): T {
  if (Array.isArray(value)) return value.map(deepCopy) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, deepCopy(member)])) as T
}
