import { mount } from '@vue/test-utils'
import { defineComponent, h, type Component } from 'vue'
import { createMemoryHistory, createRouter, matchedRouteKey, type RouteRecordRaw } from 'vue-router'

import type { Principal } from '@/api/types'
import { usePrincipalStore } from '@/stores/principal'
import { routes as pages } from '@/router/routes'

/** Signs somebody in, without asking anybody. */
export function signInAs(role: Principal['role'] = 'operator', tenants: string[] | null = ['acme']): void {
  usePrincipalStore().account = { operator: 'otto', role, tenants, token: null, ends_at: null, totp: 'off' }
}

/** A page of the router, as far as one that asks before it is left needs it. */
const record = { value: { leaveGuards: new Set(), updateGuards: new Set() } }

/** A route of the dashboard without its page, which would be loaded when a test has long ended. */
function bare({ path, name, children }: RouteRecordRaw): RouteRecordRaw {
  return { path, name, component: { render: () => null }, children: children?.map(bare) } as RouteRecordRaw
}

const routes = pages.map(bare)

/** Puts a component on the page, with the addresses of the dashboard. What it teleports is in the document. */
export function mountApp(component: Component, props: Record<string, unknown> = {}, around?: () => void) {
  const wrapper = defineComponent({
    setup() {
      around?.()
      return () => h(component, props)
    },
  })
  const router = createRouter({ history: createMemoryHistory(), routes })
  return mount(wrapper, { global: { plugins: [router], provide: { [matchedRouteKey as symbol]: record } }, attachTo: document.body })
}

/** The first element of the document that fits, wherever it was teleported to. */
export function found<E extends Element = HTMLElement>(selector: string, text = ''): E {
  const all = [...document.querySelectorAll<E>(selector)]
  const element = all.find((it) => (it.textContent ?? '').includes(text))
  if (!element) throw new Error(`there is no ${selector} with "${text}" in: ${document.body.innerHTML}`)
  return element
}
