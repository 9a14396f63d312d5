import { mount } from '@vue/test-utils'
import { defineComponent, h, type Component } from 'vue'
import { createMemoryHistory, createRouter, matchedRouteKey, type RouteRecordRaw } from 'vue-router'

import type { Principal } from '@/api/types'
import { usePrincipalStore } from '@/stores/principal'
import { routes as pages } from '@/router/routes'

/** Sets the signed-in operator without a request. */
export function signInAs(role: Principal['role'] = 'operator', tenants: string[] | null = ['acme']): void {
  usePrincipalStore().account = { operator: 'otto', role, tenants, token: null, ends_at: null, totp: 'off' }
}

/** A route record for components with navigation guards. */
const record = { value: { leaveGuards: new Set(), updateGuards: new Set() } }

/** A route without its lazy component, which could load after the test. */
function bare({ path, name, children }: RouteRecordRaw): RouteRecordRaw {
  return { path, name, component: { render: () => null }, children: children?.map(bare) } as RouteRecordRaw
}

const routes = pages.map(bare)

/** Mounts a component in the document with the routes of the dashboard. */
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

/** The first matching element of the document, including teleported ones. */
export function getElement<E extends Element = HTMLElement>(selector: string, text = ''): E {
  const all = [...document.querySelectorAll<E>(selector)]
  const element = all.find((it) => (it.textContent ?? '').includes(text))
  if (!element) throw new Error(`there is no ${selector} with "${text}" in: ${document.body.innerHTML}`)
  return element
}
