import type { Component } from 'vue'
import type { RouteRecordRaw } from 'vue-router'

import type { Role } from '@/api/types'

/** What a folder of `views/` tells about itself in its `route.ts`. */
export interface View {
  /** Its addresses. Pages are imported lazily: `component: () => import('./TenantsView.vue')`. */
  routes: RouteRecordRaw[]
  /** Its place in the navigation, if it has one. */
  link?: Link
}

export interface Link {
  /** Name of the route that it leads to. */
  to: string
  label: () => string
  icon: Component
  /** Where it stands: small numbers first. */
  order: number
  /** The role without which it is not shown; the route says the same in `meta.needs`. */
  needs?: Role
}

declare module 'vue-router' {
  interface RouteMeta {
    /** What the browser's tab says, and what screen readers hear when the page is there. */
    title: () => string
    /** The role without which the page is not shown. */
    needs?: Role
    /** Whether the page stands by itself, for who has not signed in. */
    isPublic?: boolean
    /** The link of the navigation that it belongs to, if it has none itself. */
    under?: string
  }
}

const folders = import.meta.glob<{ default: View }>('./*/route.ts', { eager: true })

/** Every view there is. */
export const views: View[] = Object.values(folders).map((folder) => folder.default)

/** The navigation. */
export const links: Link[] = views.flatMap(({ link }) => link ?? []).sort((one, other) => one.order - other.order)

/** Loads the pages that are not there yet, so that none has to be fetched at a moment when the server can't be reached. */
export async function prefetch(): Promise<void> {
  for (const route of views.flatMap(({ routes }) => routes.flatMap((route) => [route, ...(route.children ?? [])]))) {
    if (typeof route.component === 'function') await (route.component as () => Promise<unknown>)().catch(() => undefined)
  }
}
