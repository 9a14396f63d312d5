import type { FieldChange } from '@/api/types'

/** Maximum depth of nested changes. */
const DEPTH_MAX = 4

/**
 * Changes of fields that hold objects or lists, as changes of what differs within them: `handover` as `handover.kind`, a list
 * of objects as `rules[2].path`. Lists of plain values stay whole; see [`listDifference`].
 */
export function flattenChanges(changes: readonly FieldChange[]): FieldChange[] {
  return changes.flatMap((change) => within(change, 0))
}

/** Removed and added values of a plain list. */
export function listDifference({ from, to }: FieldChange): { lost: string[]; gained: string[] } | undefined {
  if (!isPlainList(from) || !isPlainList(to)) return undefined
  const [before, after] = [(from ?? []).map(String), (to ?? []).map(String)]
  const lost = before.filter((item) => !after.includes(item))
  const gained = after.filter((item) => !before.includes(item))
  // A list that was only reordered is shown as a whole.
  return lost.length + gained.length > 0 ? { lost, gained } : undefined
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
