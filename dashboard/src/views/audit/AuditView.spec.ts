import { flushPromises } from '@vue/test-utils'
import { expect, test, vi } from 'vitest'

import { getElement, mountApp, signInAs } from '@/testing/mount'
import { mockApi } from '@/testing/api'

import AuditView from './AuditView.vue'

const entry = (id: string, action: string) => ({ id, at: 1, action, operator: 'otto', request: 'r', changes: [], outcome: 'done', via: 'api' })
const log = { events: [entry('3-0', 'account.sign_in'), entry('2-0', 'tenant.update'), entry('1-0', 'account.change_password')], next: null }
const entries = () => document.querySelectorAll('.entry').length

test('sign-ins are hidden by default', async () => {
  mockApi({ 'GET /api/v1/audit': log })
  signInAs('superuser', null)
  mountApp(AuditView)
  await flushPromises()
  expect(entries()).toBe(2)
  expect(getElement('main, body').textContent).toContain('1 sign-in hidden')
  getElement<HTMLInputElement>('label input[type=checkbox]').click()
  await flushPromises()
  expect(entries()).toBe(3)
  expect(document.body.textContent).not.toContain('hidden')
})

test('downloads are requested in parts', async () => {
  const part = (text: string, next?: string) => new Response(text, { headers: next === undefined ? {} : { 'x-vestibule-next': next } })
  const requests = mockApi({
    'GET /api/v1/audit': log,
    'GET /api/v1/audit/export?format=csv&limit=1000': part('columns\r\n', '7-0@acme'),
    'GET /api/v1/audit/export?format=csv&limit=1000&before=7-0%40acme': part('a row\r\n'),
  })
  const saved: string[] = []
  vi.stubGlobal('Blob', class { constructor(readonly parts: string[]) {} })
  Object.assign(URL, { createObjectURL: ({ parts }: { parts: string[] }) => `blob:${saved.push(...parts)}`, revokeObjectURL: () => undefined })
  const click = vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(() => undefined)
  signInAs('superuser', null)
  mountApp(AuditView)
  await flushPromises()
  getElement<HTMLButtonElement>('.exports button').click()
  await flushPromises()
  expect(saved.join('')).toBe('columns\r\na row\r\n')
  expect(click).toHaveBeenCalledOnce()
  expect(requests).toHaveLength(3)
})

test('a search for account events shows sign-ins', async () => {
  const requests = mockApi({ 'GET /api/v1/audit': log })
  signInAs('superuser', null)
  mountApp(AuditView)
  await flushPromises()
  const action = getElement<HTMLSelectElement>('select')
  action.value = 'account.'
  action.dispatchEvent(new Event('change', { bubbles: true }))
  await flushPromises()
  expect(requests.at(-1)?.line).toContain('action=account.')
  expect(entries()).toBe(3)
  expect(document.querySelector('input[type=checkbox]')).toBeNull()
})
