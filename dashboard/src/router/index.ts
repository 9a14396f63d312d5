import { nextTick } from 'vue'
import { createRouter, createWebHistory, type RouteLocationNormalized } from 'vue-router'

import { usePrincipalStore } from '@/stores/principal'

import { routes } from './routes'

export const router = createRouter({
  history: createWebHistory(),
  routes,
  scrollBehavior: (to, from, before) => before ?? (to.path === from.path ? false : { top: 0 }),
})

router.beforeEach(async (to) => {
  // The policy of a framed overlay would apply to other pages in the frame, too.
  if (window.top !== window.self && to.name !== 'queue-overlay') return false
  const principal = usePrincipalStore()
  try {
    await principal.load()
  } catch {
    // The server is unreachable: the page is shown and reports it.
  }
  if (to.meta.isPublic) return principal.account && to.name === 'sign-in' ? back(to) : true
  if (principal.account === null) return { name: 'sign-in', query: { next: to.fullPath } }
  if (principal.mustSetUpTotp && to.name !== 'two-factor') return { name: 'two-factor', query: { next: to.fullPath } }
  return !to.meta.needs || principal.hasRole(to.meta.needs) || { name: 'not-found', params: { rest: to.path.split('/').slice(1) } }
})

router.afterEach(async (to, from, failure) => {
  if (failure) return
  document.title = `${to.meta.title()} · Vestibule`
  // Keyboard and screen reader users continue at the heading of the new page.
  if (from.name && to.path !== from.path) {
    await nextTick()
    document.querySelector<HTMLElement>('h1')?.focus()
  }
})

// If the server is reachable, a missing page belongs to a replaced version: the new one is loaded.
router.onError(async (_, to, from) => {
  if (from.matched.length === 0) return
  const isReachable = await usePrincipalStore().refresh().then(() => true, () => false)
  if (isReachable) location.assign(to.fullPath)
})

/** The page before the sign-in. Only paths of this site are allowed, because links can be forged. */
export function back({ query }: Pick<RouteLocationNormalized, 'query'>): string {
  const next = typeof query.next === 'string' ? query.next : '/'
  return /^\/(?![/\\])/.test(next) ? next : '/'
}
