import { enableAutoUnmount, flushPromises } from '@vue/test-utils'
import { afterEach, expect, test } from 'vitest'

import { usePreferencesStore } from '@/stores/preferences'
import { useTenantsStore } from '@/stores/tenants'
import { found, mountApp, signInAs } from '@/testing/mount'
import { problemResponse, mockApi } from '@/testing/api'

import ThemesView from './ThemesView.vue'

enableAutoUnmount(afterEach)

const theme = (id: string, tenant: string, queues: string[] = []) => ({ id, tenant, queues, live: true })
const list = { themes: [theme('acme', 'acme', ['acme-tour']), theme('coral', 'coral')], states: ['waiting'], languages: ['en'] }
const rows = () => [...document.querySelectorAll('tbody th')].map((it) => it.textContent?.trim())

async function open(role: 'viewer' | 'operator' = 'operator'): Promise<void> {
  signInAs(role, ['acme', 'coral'])
  useTenantsStore().tenants = [{ id: 'acme', name: 'Acme Live', color: null, logo: null, domains: null, origins: null }, { id: 'coral', name: 'Coral Sound', color: null, logo: null, domains: null, origins: null }]
  mountApp(ThemesView)
  await flushPromises()
}

test('it shows the themes of the chosen tenant, and who has them', async () => {
  mockApi({ 'GET /api/v1/themes': list })
  await open()
  expect(rows()).toEqual(['acme', 'coral'])
  expect(found('tbody tr').textContent).toContain('acme-tour')
  usePreferencesStore().tenant = 'coral'
  await flushPromises()
  expect(rows()).toEqual(['coral'])
})

test('where themes are kept nowhere, it says what to do', async () => {
  mockApi({ 'GET /api/v1/themes': problemResponse(409, 'theme_storage_not_configured') })
  await open()
  expect(found('.empty').textContent).toContain('VESTIBULE_THEMES')
  expect(document.querySelector('button')).toBeNull()
})

test('whoever may not make one is not offered it', async () => {
  mockApi({ 'GET /api/v1/themes': { ...list, themes: [] } })
  await open('viewer')
  expect(found('.empty').textContent).toContain('No themes yet')
  expect(document.querySelector('button')).toBeNull()
})

test('a new theme is named after its tenant', async () => {
  mockApi({ 'GET /api/v1/themes': list })
  await open()
  found('button', 'Create a theme').click()
  await flushPromises()
  expect(found('[role=dialog]').textContent).toContain('Theme ID: acme')
  const name = found<HTMLInputElement>('[role=dialog] input')
  name.value = 'summer'
  name.dispatchEvent(new Event('input'))
  await flushPromises()
  expect(found('[role=dialog]').textContent).toContain('Theme ID: acme-summer')
  name.value = 'Sommer!'
  name.dispatchEvent(new Event('input'))
  await flushPromises()
  expect(found<HTMLButtonElement>('[role=dialog] [type=submit]').disabled).toBe(true)
})
