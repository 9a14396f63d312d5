import { computed, ref, shallowRef, watch, type ComputedRef, type Ref, type ShallowRef } from 'vue'

import { useAction } from '@/composables/useAction'
import { conflicts, type ConflictingField } from '@/domain/conflict'
import { deepCopy, isEqual } from '@/domain/json'
import { Problem } from '@/api/problem'
import { updateQueue, validateQueue } from '@/api/queues'
import type { FieldChange, QueuePatch, QueueSettings } from '@/api/types'

import { useQueue } from './useQueue'

/** A draft of a queue's settings, based on a revision. */
export interface Draft {
  draft: Ref<QueueSettings>
  /** Whether there are unsaved changes. */
  isChanged: ComputedRef<boolean>
  /** Whether a newer revision was saved by someone else. */
  isOutdated: ComputedRef<boolean>
  /** The changes according to the server, after validation. */
  review: ShallowRef<FieldChange[] | undefined>
  /** The changes of others, after a revision conflict. */
  conflict: ShallowRef<ConflictingField[] | undefined>
  problem: ComputedRef<Problem | undefined>
  isBusy: ComputedRef<boolean>
  /** Validates the draft and opens the review. */
  validate(): Promise<boolean>
  /** Saves the draft. */
  save(): Promise<boolean>
  discard(): void
  /** Returns to the form without saving. */
  back(): void
  /** Rebases the draft on the current settings, keeps the operator's values of these fields, and validates it again. */
  resolve(mine: readonly string[]): Promise<boolean>
}

/** A draft of some settings of the page's queue. Calls `saved` after each save. */
export function useDraft(fields: readonly (keyof QueueSettings)[], saved: () => void): Draft {
  const { settings, changed } = useQueue()
  const initial = settings.value
  if (!initial) throw new Error('the settings are not loaded')
  const base = shallowRef(initial)
  const draft = ref(deepCopy(initial)) as Ref<QueueSettings>
  const review = shallowRef<FieldChange[]>()
  const conflict = shallowRef<ConflictingField[]>()
  /** The current settings in a conflict. */
  let theirs = initial

  const patch = computed(() => patchOf(base.value, draft.value, fields))
  const isChanged = computed(() => Object.keys(patch.value).length > 0)
  const isOutdated = computed(() => (settings.value?.revision ?? 0) > base.value.revision)

  const { run: validate, isBusy: isValidating, problem: invalid } = useAction(async () => {
    review.value = undefined
    await catchConflict(async () => (review.value = (await validateQueue(base.value.id, base.value.revision, patch.value)).changes))
  })
  const { run: save, isBusy: isSaving, problem } = useAction(async () => {
    await catchConflict(async () => {
      const now = await updateQueue(base.value.id, base.value.revision, patch.value)
      rebase(now)
      await changed(now)
      saved()
    })
  })

  // Changes of others are shown while the draft has no changes.
  watch(settings, (now) => {
    if (now && now.id === base.value.id && !isChanged.value) rebase(now)
  })

  async function catchConflict(call: () => Promise<unknown>): Promise<void> {
    try {
      await call()
    } catch (error) {
      review.value = undefined
      if (!(error instanceof Problem) || !error.conflict) throw error
      theirs = error.conflict.current
      conflict.value = conflicts(base.value, draft.value, theirs)
    }
  }

  function rebase(now: QueueSettings): void {
    base.value = now
    draft.value = deepCopy(now)
    review.value = conflict.value = undefined
  }

  function discard(): void {
    rebase(settings.value ?? base.value)
    invalid.value = problem.value = unresolved.value = undefined
  }

  const { run: resolve, isBusy: isResolving, problem: unresolved } = useAction(async (mine: readonly string[]) => {
    // Settings that only this operator changed are kept.
    const changedByOthers = new Set(conflict.value?.map(({ field }) => field))
    const own = Object.keys(patch.value).filter((field) => !changedByOthers.has(field) || mine.includes(field))
    const kept = Object.fromEntries(own.map((field) => [field, draft.value[field as keyof QueueSettings]]))
    const now = theirs
    rebase(now)
    Object.assign(draft.value, deepCopy(kept))
    await changed(now)
    if (isChanged.value) await validate()
  })

  return {
    draft,
    isChanged,
    isOutdated,
    review,
    conflict,
    problem: computed(() => invalid.value ?? problem.value ?? unresolved.value),
    isBusy: computed(() => isValidating.value || isSaving.value || isResolving.value),
    validate,
    save,
    discard,
    back: () => (review.value = conflict.value = undefined),
    resolve,
  }
}

/** The changes of a draft as a JSON merge patch. */
export function patchOf(base: QueueSettings, draft: QueueSettings, fields: readonly (keyof QueueSettings)[]): QueuePatch {
  const changed = fields.filter((field) => !isEqual(base[field], draft[field]))
  return Object.fromEntries(changed.map((field) => [field, patched(field, base, draft)])) as QueuePatch
}

/** The value of a field in the patch. */
function patched(field: keyof QueueSettings, base: QueueSettings, draft: QueueSettings): unknown {
  if (field === 'handover') return handover(draft)
  return field === 'protection' ? protection(base, draft) : draft[field]
}

/** Objects are merged, so removed networks, lists and members of the identity must be null. */
function protection({ protection: before }: QueueSettings, { protection: after }: QueueSettings) {
  const removed = (names: object | undefined) => Object.fromEntries(Object.keys(names ?? {}).map((name) => [name, null]))
  const networks = { ...removed(before?.networks), ...after?.networks }
  const lists = { ...removed(before?.lists), ...after?.lists }
  const identity = after?.identity ? { ...removed(before?.identity), ...after.identity } : before?.identity && null
  return { ...after, ...(identity !== undefined && { identity }), ...(Object.keys(networks).length > 0 && { networks }), ...(Object.keys(lists).length > 0 && { lists }) }
}

/** Objects are merged, so a removed origin must be null. */
function handover({ handover: { kind, origin, preflights } }: QueueSettings) {
  return { kind, origin: origin || null, preflights }
}
