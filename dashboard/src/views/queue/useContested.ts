import { computed, shallowRef, type Ref } from 'vue'

import { conflicts, merged, type ConflictingField } from '@/domain/conflict'
import type { QueueSettings } from '@/api/types'

import type { Change } from './change'

/** The changes of others after a revision conflict, and the ways on from there. */
export interface Conflict {
  conflict: Readonly<Ref<readonly ConflictingField[] | undefined>>
  isBusy?: Readonly<Ref<boolean>>
  /** Returns to the form without saving. */
  back(): void
  /** Continues with the current settings, and the operator's values of these fields. */
  resolve(mine: readonly string[]): unknown
}

/** An entry of the settings that this operator and someone else changed: `reopen` shows its form with a version of it. */
export function useContested<T extends object>(reopen: (base: QueueSettings, entry: T) => void): Conflict & { contest: (change: Change, current: QueueSettings) => boolean } {
  const contested = shallowRef<{ base: QueueSettings; current: QueueSettings; before: T; mine: T; theirs: T }>()

  /** Shows both versions of the subject of a change. Returns whether there are both: someone else may have removed it. */
  function contest({ base, subject, patch }: Change, current: QueueSettings): boolean {
    const [before, mine, theirs] = [base, { ...base, ...patch(base) } as QueueSettings, current].map((settings) => subject(settings) as T | undefined)
    contested.value = before && mine && theirs && { base, current, before, mine, theirs }
    return contested.value !== undefined
  }

  function close() {
    const closed = contested.value
    contested.value = undefined
    return closed
  }

  return {
    contest,
    conflict: computed(() => contested.value && conflicts(contested.value.before, contested.value.mine, contested.value.theirs)),
    back() {
      const it = close()
      if (it) reopen(it.base, it.mine)
    },
    resolve(kept) {
      const it = close()
      if (it) reopen(it.current, merged(it.before, it.mine, it.theirs, kept))
    },
  }
}
