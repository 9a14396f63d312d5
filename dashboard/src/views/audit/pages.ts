import { onScopeDispose, ref, shallowRef, watch, type Ref, type ShallowRef } from 'vue'

import { searchAudit, type AuditSearch } from '@/services/audit'
import { problemOf, type Problem } from '@/services/problem'
import type { AuditEntry } from '@/services/types'

/** Entries that are asked for at once. */
const PAGE = 50
/** A search looks through a part of the log at a time: so many parts are looked through for the next entries. */
const PARTS_MAX = 4
/** So many new entries are enough to stop looking. */
const ENOUGH = 20

/** What is searched for; pages are the list's own matter. */
export type Search = Omit<AuditSearch, 'limit' | 'before'>

/** Pages of the audit log, the newest first. */
export interface AuditPages {
  /** `undefined` until the first page is there. */
  entries: ShallowRef<AuditEntry[] | undefined>
  /** What the next page comes before; `null` at the end. */
  next: Ref<string | null>
  isBusy: Ref<boolean>
  problem: ShallowRef<Problem | undefined>
  /** Begins again with the newest. */
  refresh(): Promise<void>
  /** Goes on with older ones. */
  older(): Promise<void>
}

/** Searches, and begins anew when what is searched for changes. */
export function useAuditPages(search: () => Search): AuditPages {
  const entries = shallowRef<AuditEntry[]>()
  const next = ref<string | null>(null)
  const isBusy = ref(false)
  const problem = shallowRef<Problem>()
  let asked = 0

  async function look(before: string | null): Promise<void> {
    const mine = ++asked
    isBusy.value = true
    try {
      let found = before === null ? [] : (entries.value ?? [])
      const enough = found.length + ENOUGH
      for (let part = 0; part < PARTS_MAX && (part === 0 || before !== null) && found.length < enough; part += 1) {
        const page = await searchAudit({ ...search(), limit: PAGE, before: before ?? undefined })
        if (mine !== asked) return
        found = [...found, ...page.entries]
        before = page.next ?? null
      }
      entries.value = found
      next.value = before
      problem.value = undefined
    } catch (error) {
      if (mine === asked) problem.value = problemOf(error)
    } finally {
      if (mine === asked) isBusy.value = false
    }
  }

  const refresh = () => look(null)
  const older = () => look(next.value)

  watch(() => JSON.stringify(search()), () => {
    entries.value = undefined
    void refresh()
  }, { immediate: true })
  onScopeDispose(() => (asked += 1))
  return { entries, next, isBusy, problem, refresh, older }
}
