import { enableAutoUnmount, flushPromises } from '@vue/test-utils'
import { afterEach, expect, test } from 'vitest'

import { locale } from '@/i18n'
import { usePreferencesStore } from '@/stores/preferences'
import { found, mountApp, signInAs } from '@/testing/mount'
import { mockApi } from '@/testing/api'
import { usePrincipalStore } from '@/stores/principal'

import AccountMenu from './AccountMenu.vue'

enableAutoUnmount(afterEach)

async function open(role: 'viewer' | 'operator' = 'operator'): Promise<void> {
  signInAs(role)
  mountApp(AccountMenu)
  found('button').dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }))
  await flushPromises()
}

async function select(role: string, text: string): Promise<void> {
  found(`[role=${role}]`, text).click()
  await flushPromises()
}

test('one button names the operator and the role, and opens the menu beside it', async () => {
  await open()
  expect(document.querySelectorAll('.account button')).toHaveLength(1)
  expect(found('button').textContent).toMatch(/Account:.*otto.*Operator/)
  // Not teleported: it stays in the landmark of the shell's header.
  expect(found('.account').contains(found('[role=menu]'))).toBe(true)
  expect(found<HTMLAnchorElement>('[role=menuitem]', 'API tokens').getAttribute('href')).toBe('/tokens')
})

test('language and appearance are chosen in the menu, which stays open', async () => {
  await open()
  await select('menuitemradio', 'Dark')
  expect(usePreferencesStore().scheme).toBe('dark')
  await select('menuitemradio', 'Deutsch')
  expect(locale.value).toBe('de')
  expect(found('[role=menuitemradio]', 'Deutsch').getAttribute('aria-checked')).toBe('true')
})

test('a viewer is not offered API tokens', async () => {
  await open('viewer')
  expect(found('[role=menu]').textContent).not.toContain('API tokens')
})

test('signing out ends the session', async () => {
  mockApi({ 'DELETE /api/v1/sign-in': 204 })
  await open()
  await select('menuitem', 'Sign out')
  expect(usePrincipalStore().account).toBeNull()
})
