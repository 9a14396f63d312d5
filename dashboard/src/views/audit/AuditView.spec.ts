import { flushPromises } from '@vue/test-utils'
import { expect, test } from 'vitest'

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
