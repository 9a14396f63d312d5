import { flushPromises } from '@vue/test-utils'
import { expect, test } from 'vitest'

import { usePreferencesStore } from '@/stores/preferences'
import { useTenantsStore } from '@/stores/tenants'
import { getElement, mountApp, signInAs } from '@/testing/mount'
import { problemResponse, mockApi } from '@/testing/api'

import ThemesView from './ThemesView.vue'

const theme = (id: string, tenant: string, queues: string[] = []) => ({ id, tenant, queues, live: true })
const list = { themes: [theme('acme', 'acme', ['acme-tour']), theme('coral', 'coral')], states: ['waiting'], languages: ['en'] }
const rows = () => [...document.querySelectorAll('tbody th')].map((it) => it.textContent?.trim())

async function open(role: 'viewer' | 'operator' = 'operator'): Promise<void> {
  signInAs(role, ['acme', 'coral'])
  useTenantsStore().tenants = [{ id: 'acme', name: 'Acme Live', color: null, logo: null, domains: null, origins: null, max_job_queues: null }, { id: 'coral', name: 'Coral Sound', color: null, logo: null, domains: null, origins: null, max_job_queues: null }]
  mountApp(ThemesView)
  await flushPromises()
}

test('it lists the themes of the selected tenant', async () => {
  mockApi({ 'GET /api/v1/themes': list })
  await open()
  expect(rows()).toEqual(['acme', 'coral'])
  expect(getElement('tbody tr').textContent).toContain('acme-tour')
  usePreferencesStore().tenant = 'coral'
  await flushPromises()
  expect(rows()).toEqual(['coral'])
})

test('missing theme storage is explained', async () => {
  mockApi({ 'GET /api/v1/themes': problemResponse(409, 'theme_storage_not_configured') })
  await open()
  expect(getElement('.empty').textContent).toContain('VESTIBULE_THEMES')
  expect(document.querySelector('button')).toBeNull()
})

test('viewers cannot create a theme', async () => {
  mockApi({ 'GET /api/v1/themes': { ...list, themes: [] } })
  await open('viewer')
  expect(getElement('.empty').textContent).toContain('No themes yet')
  expect(document.querySelector('button')).toBeNull()
})

test('a new theme is named after its tenant', async () => {
  mockApi({ 'GET /api/v1/themes': list })
  await open()
  getElement('button', 'Create a theme').click()
  await flushPromises()
  expect(getElement('[role=dialog]').textContent).toContain('Theme ID: acme')
  const name = getElement<HTMLInputElement>('[role=dialog] input')
  name.value = 'summer'
  name.dispatchEvent(new Event('input'))
  await flushPromises()
  expect(getElement('[role=dialog]').textContent).toContain('Theme ID: acme-summer')
  name.value = 'Sommer!'
  name.dispatchEvent(new Event('input'))
  await flushPromises()
  expect(getElement<HTMLButtonElement>('[role=dialog] [type=submit]').disabled).toBe(true)
  expect(getElement('[role=dialog] .error').textContent).toBe('a-z, 0-9 and -. Leave empty for the main theme of the tenant.')
})
