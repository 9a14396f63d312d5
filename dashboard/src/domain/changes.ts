import type { FieldChange } from '@/api/types'

/** Maximum depth of nested changes. */
const DEPTH_MAX = 4

/**
 * Reduces changes of objects and lists of objects to their changed members: `handover.kind`, `rules[2].path` (from 1). Lists of
 * plain values stay whole; see [`listDifference`].
 */
export function flattenChanges(changes: readonly FieldChange[]): FieldChange[] {
  return changes.flatMap((change) => within(change, 0))
}

/** Removed and added values of a plain list. */
export function listDifference({ from, to }: FieldChange): { removed: string[]; added: string[] } | undefined {
  if (!isPlainList(from) || !isPlainList(to)) return undefined
  const [before, after] = [(from ?? []).map(String), (to ?? []).map(String)]
  const removed = before.filter((item) => !after.includes(item))
  const added = after.filter((item) => !before.includes(item))
  // A list that was only reordered is shown as a whole.
  return removed.length + added.length > 0 ? { removed, added } : undefined
}

function within(change: FieldChange, depth: number): FieldChange[] {
  const { field, from, to } = change
  const [before, after] = [parts(from), parts(to)]
  const isNested = depth < DEPTH_MAX && (before ?? after) && (before ?? isNone(from)) && (after ?? isNone(to))
  if (!isNested) return [change]
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  const isList = Array.isArray(from) || Array.isArray(to)
  const inner = names
    .map((name) => ({ field: isList ? `${field}[${Number(name) + 1}]` : `${field}.${name}`, from: before?.[name] ?? null, to: after?.[name] ?? null }))
    .filter(({ from, to }) => JSON.stringify(from) !== JSON.stringify(to))
  return inner.length > 0 ? inner.flatMap((it) => within(it, depth + 1)) : [change]
}

/** Members of an object or entries of a list of objects. */
function parts(value: unknown): Record<string, unknown> | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value) && isPlainList(value)) return undefined
  return { ...(value as Record<string, unknown>) }
}

function isPlainList(value: unknown): value is unknown[] | null {
  return isNone(value) || (Array.isArray(value) && value.every((item) => typeof item !== 'object' || item === null))
}

function isNone(value: unknown): value is null | undefined {
  return value === null || value === undefined
}
