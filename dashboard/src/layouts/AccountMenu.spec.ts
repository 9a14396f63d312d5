import { flushPromises } from '@vue/test-utils'
import { expect, test } from 'vitest'

import { locale } from '@/i18n'
import { usePreferencesStore } from '@/stores/preferences'
import { getElement, mountApp, signInAs } from '@/testing/mount'
import { mockApi } from '@/testing/api'
import { usePrincipalStore } from '@/stores/principal'

import AccountMenu from './AccountMenu.vue'

async function open(role: 'viewer' | 'operator' = 'operator'): Promise<void> {
  signInAs(role)
  mountApp(AccountMenu)
  getElement('button').dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }))
  await flushPromises()
}

async function select(role: string, text: string): Promise<void> {
  getElement(`[role=${role}]`, text).click()
  await flushPromises()
}

test('the button shows operator and role and opens the menu', async () => {
  await open()
  expect(document.querySelectorAll('.account button')).toHaveLength(1)
  expect(getElement('button').textContent).toMatch(/Account:.*otto.*Operator/)
  // The menu is not teleported, so it stays in the landmark of the header.
  expect(getElement('.account').contains(getElement('[role=menu]'))).toBe(true)
  expect(getElement<HTMLAnchorElement>('[role=menuitem]', 'API tokens').getAttribute('href')).toBe('/tokens')
})

test('choosing language or appearance keeps the menu open', async () => {
  await open()
  await select('menuitemradio', 'Dark')
  expect(usePreferencesStore().scheme).toBe('dark')
  await select('menuitemradio', 'Deutsch')
  expect(locale.value).toBe('de')
  expect(getElement('[role=menuitemradio]', 'Deutsch').getAttribute('aria-checked')).toBe('true')
})

test('viewers see no API tokens link', async () => {
  await open('viewer')
  expect(getElement('[role=menu]').textContent).not.toContain('API tokens')
})

test('the menu signs the operator out', async () => {
  mockApi({ 'DELETE /api/v1/sign-in': 204 })
  await open()
  await select('menuitem', 'Sign out')
  expect(usePrincipalStore().account).toBeNull()
})
