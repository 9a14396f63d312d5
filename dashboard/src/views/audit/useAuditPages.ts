import { onScopeDispose, ref, shallowRef, watch, type Ref, type ShallowRef } from 'vue'

import { searchAudit, type AuditSearch } from '@/api/audit'
import { problemOf, type Problem } from '@/api/problem'
import type { AuditEvent } from '@/api/types'

/** Entries per request. */
const PAGE = 50
/** A request searches one part of the log. Maximum number of requests per page. */
const MAX_REQUESTS = 4
/** Number of entries that completes a page. */
const PAGE_COMPLETE = 20
/** The same limits while sign-ins are hidden. */
const PAGE_HIDING = 200
const MAX_REQUESTS_HIDING = 10
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
  let request = 0

  async function load(from: string | null): Promise<void> {
    let cursor = from
    const current = ++request
    isBusy.value = true
    const isHiding = hidesSignIns()
    const limit = isHiding ? PAGE_HIDING : PAGE
    const maxRequests = isHiding ? MAX_REQUESTS_HIDING : MAX_REQUESTS
    try {
      let fresh: AuditEvent[] = []
      for (let count = 0; count < maxRequests && (count === 0 || cursor !== null) && shown(fresh, isHiding).length < (isHiding ? PAGE : PAGE_COMPLETE); count += 1) {
        const page = await searchAudit({ ...search(), limit, before: cursor ?? undefined })
        if (current !== request) return
        fresh = [...fresh, ...page.events]
        cursor = page.next ?? null
      }
      const last: AuditEvent | undefined = shown(fresh, isHiding)[PAGE - 1]
      if (isHiding && last && last !== fresh.at(-1)) {
        // The rest is loaded again with the next page.
        fresh = fresh.slice(0, fresh.indexOf(last) + 1)
        cursor = last.id ?? null
      }
      const found = [...(from === null ? [] : (entries.value ?? [])), ...shown(fresh, isHiding)]
      hidden.value = (from === null ? 0 : hidden.value) + fresh.length - shown(fresh, isHiding).length
      entries.value = found
      next.value = cursor
      problem.value = undefined
    } catch (error) {
      if (current === request) problem.value = problemOf(error)
    } finally {
      if (current === request) isBusy.value = false
    }
  }

  const refresh = () => load(null)
  const older = () => load(next.value)

  watch(() => JSON.stringify([search(), hidesSignIns()]), () => {
    entries.value = undefined
    hidden.value = 0
    void refresh()
  }, { immediate: true })
  onScopeDispose(() => (request += 1))
  return { entries, next, hidden, isBusy, problem, refresh, older }
}

function shown(entries: AuditEvent[], isHiding: boolean): AuditEvent[] {
  return isHiding ? entries.filter(({ action }) => !SIGN_IN.test(action)) : entries
}
