import { onScopeDispose, ref, shallowRef, watch, type Ref, type ShallowRef } from 'vue'

import { searchAudit, type AuditSearch } from '@/api/audit'
import { problemOf, type Problem } from '@/api/problem'
import type { AuditEvent } from '@/api/types'

/** Entries that are asked for at once. */
const PAGE = 50
/** A search looks through a part of the log at a time: so many parts are looked through for the next entries. */
const PARTS_MAX = 4
/** So many new entries are enough to stop looking. */
const ENOUGH = 20
/** Where sign-ins are hidden, more entries are asked for at once, and more parts, to fill a page with the rest. */
const PAGE_HIDING = 200
const PARTS_MAX_HIDING = 10
/** Actions of signing in and out, successful or not. */
const SIGN_IN = /^account\.sign_/

/** What is searched for; pages are the list's own matter. */
export type Search = Omit<AuditSearch, 'limit' | 'before'>

/** Pages of the audit log, the newest first. */
export interface AuditPages {
  /** `undefined` until the first page is there. */
  entries: ShallowRef<AuditEvent[] | undefined>
  /** What the next page comes before; `null` at the end. */
  next: Ref<string | null>
  /** How many sign-ins were found and left out. */
  hidden: Ref<number>
  isBusy: Ref<boolean>
  problem: ShallowRef<Problem | undefined>
  /** Begins again with the newest. */
  refresh(): Promise<void>
  /** Goes on with older ones. */
  older(): Promise<void>
}

/** Searches, and begins again when the search changes. `hidesSignIns` leaves sign-ins out; the API can't exclude an action. */
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
        // The rest is asked for again with the next page.
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
