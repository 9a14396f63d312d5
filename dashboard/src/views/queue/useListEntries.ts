import { computed, shallowRef } from 'vue'

import { Problem } from '@/api/problem'
import type { InvitationBatch, QueueEvent, QueuePatch, QueueSettings } from '@/api/types'
import { useAction } from '@/composables/useAction'
import { useDialogOf } from '@/composables/useDialogOf'

import type { Change } from './change'
import { useContested } from './useContested'
import { useQueue } from './useQueue'

interface Lists {
  events: QueueEvent
  invitations: InvitationBatch
}

interface Options<L extends keyof Lists, A extends unknown[]> {
  list: L
  /** What tells the entries of a list apart. */
  keyOf(entry: Lists[L]): unknown
  /** Sends a change. Resolves to whether the dialog of the entry closes. */
  send(change: Change, ...args: A): Promise<boolean>
  /** Called when a dialog opens. */
  opening?(): void
}

/** Edits the entries of a list of the settings, each in a dialog. Changes of other entries by someone else are kept. */
export function useListEntries<L extends keyof Lists, A extends unknown[]>({ list, keyOf, send, opening }: Options<L, A>) {
  type Entry = Lists[L]
  const { settings } = useQueue()

  /** The entry in the dialog, and the settings when it was opened. */
  const edited = shallowRef<{ base: QueueSettings; entry: Entry; isNew: boolean }>()
  const isEditing = useDialogOf(edited)

  const entriesOf = (base: QueueSettings): readonly Entry[] => (base[list] as Entry[] | undefined) ?? []
  const isSame = (entry: Entry) => (other: Entry) => keyOf(other) === keyOf(entry)

  const { run: patch, isBusy, problem } = useAction(async (change: Change, ...args: A) => {
    try {
      if (!(await send(change, ...args))) return
    } catch (error) {
      const conflict = error instanceof Problem ? error.conflict : undefined
      if (!conflict || !edited.value || !contest(change, conflict.current)) throw error
    } finally {
      // Entries that others have added count in the errors of the next attempt.
      if (edited.value) edited.value = { ...edited.value, base: change.base }
    }
    edited.value = undefined
  })
  const { contest, ...contested } = useContested<Entry>((base, entry) => show(base, entry, false))

  function show(base: QueueSettings, entry: Entry, isNew: boolean): void {
    problem.value = undefined
    opening?.()
    edited.value = { base, entry, isNew }
  }

  /** Opens the dialog of an entry. */
  function open(entry: Entry, isNew = false): void {
    if (settings.value) show(settings.value, entry, isNew)
  }

  /** A change of the list that depends on this entry, as it is in `base`. */
  const changing = (base: QueueSettings, entry: Entry, change: (entries: readonly Entry[]) => Entry[]): Change => ({
    base,
    subject: (it) => entriesOf(it).find(isSame(entry)),
    patch: (it) => ({ [list]: change(entriesOf(it)) }) as QueuePatch,
  })
  /** The change to this version of an entry. */
  const replacing = (base: QueueSettings, entry: Entry) =>
    changing(base, entry, (entries) => entries.map((other) => (isSame(entry)(other) ? entry : other)))

  /** The change that the dialog makes: the first of these replaces its entry, or all of them are added. */
  function saving(entries: readonly Entry[]): Change | undefined {
    const [first] = entries
    if (!edited.value || !first) return undefined
    const { base, isNew } = edited.value
    return isNew ? { ...changing(base, first, (others) => [...others, ...entries]), subject: () => undefined } : replacing(base, first)
  }

  /** Index of the edited entry among those that are sent. */
  const index = computed(() => {
    if (!edited.value) return 0
    const { base, entry, isNew } = edited.value
    return isNew ? entriesOf(base).length : entriesOf(base).findIndex(isSame(entry))
  })

  return { edited, isEditing, index, patch, isBusy, problem, contested, open, changing, replacing, saving }
}
