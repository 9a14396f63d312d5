import { flushPromises } from '@vue/test-utils'
import { expect, test, vi } from 'vitest'

import * as service from '@/api/sessions'
import type { SessionPage } from '@/api/types'
import { useStatsStore } from '@/stores/stats'
import { mockApi } from '@/testing/api'
import { settings, stats } from '@/testing/fixtures'
import { mountApp, signInAs } from '@/testing/mount'

import { provideQueue } from '../useQueue'
import SessionList from './SessionList.vue'

const page = (code: string, next: string | null = null) => ({ sessions: [{ session: code, support_code: code, expires_at: 1 }], next }) as SessionPage

test('a page that arrives after the tab was switched is left out', async () => {
  mockApi({ 'GET /api/v1/queues/acme-tour': settings() })
  signInAs('operator')
  useStatsStore().setQueue(stats())
  const answers: ((page: SessionPage) => void)[] = []
  const list = vi.spyOn(service, 'listSessions').mockImplementation(() => new Promise((resolve) => answers.push(resolve)))
  const shown = mountApp(SessionList, {}, () => provideQueue(() => 'acme-tour'))
  const choose = async (index: number) => {
    await shown.findAll('input[type="radio"]')[index]!.setValue()
    await flushPromises()
  }
  await choose(1)
  expect(list.mock.calls.map(([, state]) => state)).toEqual(['waiting', 'active'])
  answers[1]!(page('ACTIVE', '7'))
  answers[0]!(page('WAITING'))
  await flushPromises()
  expect(shown.text()).toContain('ACTIVE')
  expect(shown.text()).not.toContain('WAITING')
  await shown.find('.more').trigger('click')
  await choose(0)
  answers[3]!(page('FIRST'))
  answers[2]!(page('LATE'))
  await flushPromises()
  expect(shown.text()).toContain('FIRST')
  expect(shown.text()).not.toContain('LATE')
  shown.unmount()
})
