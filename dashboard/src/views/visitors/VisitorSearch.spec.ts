import { flushPromises } from '@vue/test-utils'
import { expect, test } from 'vitest'

import { useStatsStore } from '@/stores/stats'
import { mockApi } from '@/testing/api'
import { stats } from '@/testing/fixtures'
import { mountApp, signInAs } from '@/testing/mount'

import VisitorSearch from './VisitorSearch.vue'

test('a code that finds nobody may belong to a visitor in a lobby', async () => {
  signInAs()
  const event = { phase: 'lobby', lobby_tickets: 3, awaits_beacon: false }
  for (const queue of [stats({ name: 'World tour', mode: 'scheduled', event }), stats({ queue: 'club', name: 'Club tour', mode: 'scheduled', event: { ...event, lobby_tickets: null } })]) useStatsStore().setQueue(queue)
  mockApi({ 'GET /api/v1/sessions': { sessions: [] } })
  const page = mountApp(VisitorSearch)
  await page.find('input').setValue('K7F2')
  await page.find('form').trigger('submit')
  await flushPromises()
  expect(page.find('.alert-box').text()).toContain('The code of a job or an order is found in its job queue.')
  expect(page.find('.alert-box').text()).toMatch(/found after the draw\.\s*Such visitors wait now for: World tour\.$/)
})
