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
  const principal = usePrincipalStore()
  try {
    await principal.load()
  } catch {
    // The server can't be reached: the page stands, and says so by itself.
  }
  if (to.meta.isPublic) return principal.account && to.name === 'sign-in' ? back(to) : true
  if (principal.account === null) return { name: 'sign-in', query: { next: to.fullPath } }
  if (principal.mustSetUpTotp && to.name !== 'two-factor') return { name: 'two-factor', query: { next: to.fullPath } }
  return !to.meta.needs || principal.hasRole(to.meta.needs) || { name: 'not-found', params: { rest: to.path.split('/').slice(1) } }
})

router.afterEach(async (to, from, failure) => {
  if (failure) return
  document.title = `${to.meta.title()} · Vestibule`
  // Whoever follows a link by keyboard or screen reader goes on from the top of the new page.
  if (from.name && to.path !== from.path) {
    await nextTick()
    document.querySelector<HTMLElement>('h1')?.focus()
  }
})

// A page that can't be fetched though the server is there belongs to a version that was replaced: the new one is loaded.
router.onError(async (_, to, from) => {
  if (from.matched.length === 0) return
  const isThere = await usePrincipalStore().refresh().then(() => true, () => false)
  if (isThere) location.assign(to.fullPath)
})

/** Where an operator was before they had to sign in. Only a path of this site: whoever made the link chose the rest. */
export function back({ query }: Pick<RouteLocationNormalized, 'query'>): string {
  const next = typeof query.next === 'string' ? query.next : '/'
  return /^\/(?![/\\])/.test(next) ? next : '/'
}
