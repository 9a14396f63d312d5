import { flushPromises } from '@vue/test-utils'
import { expect, test, vi } from 'vitest'

import { useConfirmationStore } from '@/stores/confirmation'
import { useNotificationStore } from '@/stores/notifications'
import { useTenantsStore } from '@/stores/tenants'
import { getElement, mountApp, signInAs } from '@/testing/mount'
import { mockApi, problemResponse } from '@/testing/api'

import ThemeEditor from './ThemeEditor.vue'

const status = () => getElement('[role=status]').textContent?.trim()

/** Opens the new theme of a tenant, which these queues use. */
async function open(queues: string[]): Promise<void> {
  const version = { id: '1-a', at: 1, operator: 'otto', files: 2, bytes: 9, live: false }
  const versions: object[] = []
  mockApi({
    'GET /api/v1/themes/acme/versions': () => ({ revision: 0, versions }),
    'POST /api/v1/themes/acme/versions': ({ line }) => (line.endsWith('validate=true') || versions.push(version), version),
    'POST /api/v1/themes/acme/versions/1-a/activate': () => (versions[0] = { ...version, live: true }),
    'POST /api/v1/themes/acme/preview': { pages: [], asset_base: '', nonce: '' },
    'GET /api/v1/queues': { queues: [], next: null },
  })
  signInAs('operator', ['acme'])
  useTenantsStore().tenants = [{ id: 'acme', name: 'Acme Live', color: null, logo: null, domains: null, origins: null, max_job_queues: null }]
  mountApp(ThemeEditor, { theme: 'acme', known: { themes: [{ id: 'acme', tenant: 'acme', queues, live: false }], states: ['waiting'], languages: ['en'] } })
  await flushPromises()
}

async function upload(...names: string[]): Promise<void> {
  await add(names, new ArrayBuffer(3))
}

async function add(names: readonly string[], content: ArrayBuffer): Promise<void> {
  const input = getElement<HTMLInputElement>('input[type=file]')
  const files = names.map((name) => ({ name, type: '', arrayBuffer: async () => content }))
  Object.defineProperty(input, 'files', { value: files, configurable: true })
  Object.defineProperty(input, 'value', { value: '', writable: true, configurable: true })
  input.dispatchEvent(new Event('change'))
  await flushPromises()
}

async function press(text: string): Promise<void> {
  getElement('.dock button', text).click()
  await flushPromises()
}

async function activate(): Promise<string[]> {
  await press('Activate')
  useConfirmationStore().pending?.answer(true)
  await flushPromises()
  return useNotificationStore().notifications.map(({ text }) => text)
}

test('the message about added files ends when they are saved', async () => {
  await open(['acme-tour'])
  await upload('queue.html', 'logo.svg')
  expect(document.body.textContent).toContain('2 files, not saved yet.')
  await press('Save version')
  expect(document.body.textContent).not.toContain('not saved yet')
  expect(await activate()).toContain('Activated. Visitors see this version within seconds.')
  expect(status()).toBe('Live: visitors see this version.')
})

test('an activated theme that no queue uses is not called live', async () => {
  await open([])
  await upload('queue.html')
  await press('Save version')
  expect(await activate()).toContain('Activated. No queue uses this theme yet.')
  expect(status()).toBe('No queue uses this theme yet: visitors do not see it.')
})

test('the error of an action is shown until the file changes', async () => {
  await open([])
  await upload('queue.html')
  expect(document.body.textContent).toContain('1 file, not saved yet.')
  const errors = [{ code: 'template_fault', field: 'queue.html:2', detail: 'wrong for one queue' }]
  mockApi({
    'POST /api/v1/themes/acme/versions': problemResponse(422, 'theme_invalid', { errors }),
    'POST /api/v1/themes/acme/preview': { pages: [], asset_base: '', nonce: '' },
  })
  await press('Save version')
  expect(getElement('.errors').textContent).toContain('wrong for one queue')
  const editor = getElement<HTMLTextAreaElement>('textarea')
  editor.value = 'right'
  editor.dispatchEvent(new Event('input'))
  await vi.waitFor(() => expect(document.querySelector('.errors')).toBeNull())
})

test('a file that is not UTF-8 is not edited as text', async () => {
  await open([])
  await add(['queue.html'], new Uint8Array([0x54, 0xfc]).buffer)
  expect(document.querySelector('textarea')).toBeNull()
  expect(document.body.textContent).toContain('Save it as UTF-8')
})

test('the button that adds files stays in the focus order', async () => {
  await open([])
  const input = getElement('.file-button input[type=file]')
  expect(input.className).toBe('visually-hidden')
  expect(input.hidden || input.tabIndex < 0).toBe(false)
})
