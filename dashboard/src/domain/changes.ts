import type { FieldChange } from '@/api/types'

/** Maximum depth of nested changes. */
const DEPTH_MAX = 4

/**
 * Reduces changes of objects and lists of objects to their changed members: `handover.kind`, `events[sale].ends_at`, `rules[2].path` (from 1; the API counts from 0). An entry
 * that was added or removed is one change, without a value before or after. Lists of plain values stay whole; see [`listDifference`].
 */
export function flattenChanges(changes: readonly FieldChange[]): FieldChange[] {
  const fromOne = (field: string) => field.replace(/\[(\d+)\]/g, (_, index) => `[${Number(index) + 1}]`)
  return changes.flatMap((change) => within({ ...change, field: fromOne(change.field) }, 0))
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
  const isList = Array.isArray(from) || Array.isArray(to)
  const pairs = isList ? pairsOf(Object.values(before ?? {}), Object.values(after ?? {})) : membersOf(before ?? {}, after ?? {})
  const inner = pairs.map(({ name, from, to }) => ({ field: isList ? `${field}[${name}]` : `${field}.${name}`, from, to })).filter(({ from, to }) => !isSame(from, to))
  if (inner.length === 0) return [change]
  return inner.flatMap((it) => (isList && (isNone(it.from) || isNone(it.to)) ? [it] : within(it, depth + 1)))
}

/** A member or an entry before and after. */
interface Pair {
  name: string | number
  from: unknown
  to: unknown
}

function membersOf(before: Record<string, unknown>, after: Record<string, unknown>): Pair[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return names.map((name) => ({ name, from: before[name] ?? null, to: after[name] ?? null }))
}

/** The entries of a list that belong together: by their IDs, or without IDs by equal content. */
function pairsOf(before: readonly unknown[], after: readonly unknown[]): Pair[] {
  const isNamed = [...before, ...after].every((entry) => idOf(entry) !== undefined)
  const byId = (entries: readonly unknown[]) => Object.fromEntries(entries.map((entry) => [idOf(entry), entry]))
  return isNamed ? membersOf(byId(before), byId(after)) : aligned(before, after)
}

function idOf(entry: unknown): string | undefined {
  const id = typeof entry === 'object' && entry !== null && 'id' in entry ? entry.id : undefined
  return typeof id === 'string' ? id : undefined
}

/** Pairs of entries around those of the longest common subsequence. Where entries were removed and others added, they are pairs in their order. */
function aligned(before: readonly unknown[], after: readonly unknown[]): Pair[] {
  const lengths: number[][] = []
  const lengthAt = (row: number, column: number) => lengths[row]?.[column] ?? 0
  for (let row = before.length - 1; row >= 0; row -= 1) {
    const line = (lengths[row] = new Array<number>(after.length).fill(0))
    for (let column = after.length - 1; column >= 0; column -= 1) {
      line[column] = isSame(before[row], after[column]) ? lengthAt(row + 1, column + 1) + 1 : Math.max(lengthAt(row + 1, column), lengthAt(row, column + 1))
    }
  }
  const pairs: Pair[] = []
  let [row, column] = [0, 0]
  let removed: Pair[] = []
  let added: Pair[] = []
  const close = () => {
    for (let index = 0; index < Math.max(removed.length, added.length); index += 1) {
      const [old, now] = [removed[index], added[index]]
      pairs.push({ name: (now ?? old)?.name ?? 0, from: old?.from ?? null, to: now?.to ?? null })
    }
    removed = []
    added = []
  }
  while (row < before.length || column < after.length) {
    if (row < before.length && column < after.length && isSame(before[row], after[column])) {
      close()
      row += 1
      column += 1
    } else if (column === after.length || (row < before.length && lengthAt(row + 1, column) >= lengthAt(row, column + 1))) {
      row += 1
      removed.push({ name: row, from: before[row - 1], to: null })
    } else {
      column += 1
      added.push({ name: column, from: null, to: after[column - 1] })
    }
  }
  close()
  return pairs
}

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

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
