import { flushPromises } from '@vue/test-utils'
import { expect, test } from 'vitest'

import { useConfirmationStore } from '@/stores/confirmation'
import { useStatsStore } from '@/stores/stats'
import { getElement, mountApp, signInAs } from '@/testing/mount'
import { stats } from '@/testing/fixtures'
import { problemResponse, mockApi } from '@/testing/api'

import TenantsView from './TenantsView.vue'

const tenants = [{ id: 'acme', name: 'Acme Live' }, { id: 'coral', name: 'Coral Sound' }]
const buttons = () => [...document.querySelectorAll('button')].map((it) => it.getAttribute('aria-label') ?? it.textContent?.trim())

async function open(role: 'viewer' | 'operator' | 'superuser', mine: string[] | null = ['acme']): Promise<void> {
  signInAs(role, mine)
  useStatsStore().setQueue(stats())
  mountApp(TenantsView)
  await flushPromises()
}

test.each([
  ['viewer', ['acme'], []],
  ['operator', ['acme'], ['Edit Acme Live']],
  ['superuser', null, ['Create a tenant', 'Edit Acme Live', 'Remove Acme Live', 'Edit Coral Sound', 'Remove Coral Sound']],
] as const)('a %s sees only permitted actions', async (role, mine, expected) => {
  mockApi({ 'GET /api/v1/tenants': { tenants } })
  await open(role, mine && [...mine])
  expect(buttons()).toEqual(expected)
})

test('a tenant whose name stands for the host is shown by its ID', async () => {
  mockApi({ 'GET /api/v1/tenants': { tenants: [{ id: 'site', name: '{host}' }] } })
  await open('superuser', null)
  expect(buttons()).toContain('Remove site')
  expect(document.body.textContent).not.toContain('{host}')
})

test('a tenant with queues is not removed', async () => {
  const requests = mockApi({ 'GET /api/v1/tenants': { tenants } })
  await open('superuser', null)
  getElement('[aria-label="Remove Acme Live"]').click()
  await flushPromises()
  expect(getElement('[role=dialog]').textContent).toContain('Acme Live still has queues')
  expect(requests.filter(({ line }) => line.startsWith('DELETE'))).toEqual([])
})

test('an empty tenant is removed after confirmation', async () => {
  const confirmation = { token: 't1', consequence: 'It will be removed for good', expires_in: 120 }
  const requests = mockApi({
    'GET /api/v1/tenants': { tenants },
    'DELETE /api/v1/tenants/coral': ({ headers }) =>
      headers.get('x-vestibule-confirm') === 't1' ? 204 : problemResponse(428, 'confirmation_required', { confirmation }),
  })
  await open('superuser', null)
  getElement('[aria-label="Remove Coral Sound"]').click()
  await flushPromises()
  const { pending } = useConfirmationStore()
  expect(pending).toMatchObject({ effect: 'It will be removed for good.', typed: 'coral' })
  pending?.answer(true)
  await flushPromises()
  expect(requests.filter(({ line }) => line.startsWith('DELETE'))).toHaveLength(2)
})

test('a failed load shows the problem and can be retried', async () => {
  let isThere = false
  mockApi({ 'GET /api/v1/tenants': () => (isThere ? { tenants } : problemResponse(503, 'store_unavailable')) })
  await open('viewer')
  expect(getElement('[role=alert]').textContent).toContain('The store is unavailable')
  isThere = true
  getElement('button', 'Try again').click()
  await flushPromises()
  expect(getElement('th[scope=row]').textContent).toContain('Acme Live')
})
