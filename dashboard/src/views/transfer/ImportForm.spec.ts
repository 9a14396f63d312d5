import { enableAutoUnmount, flushPromises } from '@vue/test-utils'
import { afterEach, expect, test, vi } from 'vitest'

import { found, mountApp, signInAs } from '@/testing/mount'
import { mockApi, type ApiRequest } from '@/testing/api'

import ImportForm from './ImportForm.vue'

enableAutoUnmount(afterEach)

const PLAN = 'POST /api/v1/settings?validate=true'
const plan = { plan: { tenants: [], queues: [{ id: 'acme-tour', created: true, changes: [] }], removed: [], kept: [] }, applied: false, skipped: [] }

async function choose(text: string): Promise<ApiRequest[]> {
  const asked = mockApi({ [PLAN]: plan })
  signInAs('superuser', null)
  mountApp(ImportForm)
  const input = found<HTMLInputElement>('input[type=file]')
  // jsdom has no File.text().
  Object.defineProperty(input, 'files', { value: [{ name: 'vestibule.toml', text: () => Promise.resolve(text) }] })
  input.dispatchEvent(new Event('change'))
  await flushPromises()
  return asked
}

test('a TOML file is sent as JSON to plan the import', async () => {
  const asked = await choose('[[queues]]\nid = "acme-tour"\nhosts = ["a.example"]\n')
  await vi.waitFor(() => expect(asked.map(({ line }) => line)).toEqual([PLAN]))
  expect(asked[0]?.body).toEqual({ queues: [{ id: 'acme-tour', hosts: ['a.example'] }] })
  await vi.waitFor(() => expect(document.body.textContent).toContain('Changes'))
})

test('an invalid file shows the line and is not sent', async () => {
  const asked = await choose('[[queues]]\nid = \n')
  await vi.waitFor(() => expect(found('.field .error').textContent).toContain('The file is not valid TOML: line 2.'))
  expect(asked).toEqual([])
})
