import { onScopeDispose, ref, shallowRef, watch, type Ref, type ShallowRef } from 'vue'

import { searchAudit, type AuditSearch } from '@/api/audit'
import { problemOf, type Problem } from '@/api/problem'
import type { AuditEvent } from '@/api/types'

/** Entries per request. */
const PAGE = 50
/** A request searches one part of the log. Maximum number of requests per page. */
const PARTS_MAX = 4
/** Number of entries that completes a page. */
const ENOUGH = 20
/** The same limits while sign-ins are hidden. */
const PAGE_HIDING = 200
const PARTS_MAX_HIDING = 10
/** Actions of signing in and out, including failed ones. */
const SIGN_IN = /^account\.sign_/

/** The filters without the paging. */
export type Search = Omit<AuditSearch, 'limit' | 'before'>

/** Pages of the audit log, newest entries first. */
export interface AuditPages {
  /** `undefined` until the first page is loaded. */
  entries: ShallowRef<AuditEvent[] | undefined>
  /** Cursor of the next page; `null` at the end. */
  next: Ref<string | null>
  /** Number of hidden sign-ins. */
  hidden: Ref<number>
  isBusy: Ref<boolean>
  problem: ShallowRef<Problem | undefined>
  /** Loads the newest entries. */
  refresh(): Promise<void>
  /** Loads older entries. */
  older(): Promise<void>
}

/** Searches the log, again whenever the search changes. `hidesSignIns` filters here, because the API cannot exclude actions. */
export function useAuditPages(search: () => Search, hidesSignIns: () => boolean = () => false): AuditPages {
  const entries = shallowRef<AuditEvent[]>()
  const next = ref<string | null>(null)
  const hidden = ref(0)
  const isBusy = ref(false)
  const problem = shallowRef<Problem>()
  let asked = 0

  async function look(from: string | null): Promise<void> {
    let before = from
    const own = ++asked
    isBusy.value = true
    const isHiding = hidesSignIns()
    const limit = isHiding ? PAGE_HIDING : PAGE
    const partsMax = isHiding ? PARTS_MAX_HIDING : PARTS_MAX
    try {
      let fresh: AuditEvent[] = []
      for (let part = 0; part < partsMax && (part === 0 || before !== null) && shown(fresh, isHiding).length < (isHiding ? PAGE : ENOUGH); part += 1) {
        const page = await searchAudit({ ...search(), limit, before: before ?? undefined })
        if (own !== asked) return
        fresh = [...fresh, ...page.events]
        before = page.next ?? null
      }
      const last: AuditEvent | undefined = shown(fresh, isHiding)[PAGE - 1]
      if (isHiding && last && last !== fresh.at(-1)) {
        // The rest is loaded again with the next page.
        fresh = fresh.slice(0, fresh.indexOf(last) + 1)
        before = last.id ?? null
      }
      const found = [...(from === null ? [] : (entries.value ?? [])), ...shown(fresh, isHiding)]
      hidden.value = (from === null ? 0 : hidden.value) + fresh.length - shown(fresh, isHiding).length
      entries.value = found
      next.value = before
      problem.value = undefined
    } catch (error) {
      if (own === asked) problem.value = problemOf(error)
    } finally {
      if (own === asked) isBusy.value = false
    }
  }

  const refresh = () => look(null)
  const older = () => look(next.value)

  watch(() => JSON.stringify([search(), hidesSignIns()]), () => {
    entries.value = undefined
    hidden.value = 0
    void refresh()
  }, { immediate: true })
  onScopeDispose(() => (asked += 1))
  return { entries, next, hidden, isBusy, problem, refresh, older }
}

function shown(entries: AuditEvent[], isHiding: boolean): AuditEvent[] {
  return isHiding ? entries.filter(({ action }) => !SIGN_IN.test(action)) : entries
}
