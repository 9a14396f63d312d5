import { flushPromises, type VueWrapper } from '@vue/test-utils'
import { expect, test } from 'vitest'

import { locale } from '@/i18n'
import { useStatsStore } from '@/stores/stats'
import { getElement, mountApp, signInAs } from '@/testing/mount'
import { settings, stats } from '@/testing/fixtures'
import { mockApi, problemResponse, type ApiRequest } from '@/testing/api'
import type { QueueSettings, QueueStats } from '@/api/types'

import { provideQueue } from '../useQueue'
import ControlsPanel from './ControlsPanel.vue'

let panel: VueWrapper

const CONTROLS = 'PATCH /api/v1/queues/acme-tour/controls'

/** Mounts the controls of a queue with 4,210 waiting visitors. */
async function controls(message?: QueueSettings['message'], changes: Partial<QueueStats> = {}, response?: Response): Promise<ApiRequest[]> {
  const now = stats({ waiting: 4210, active: 100, ...changes })
  const queue = settings({ message })
  const requests = mockApi({ 'GET /api/v1/queues/acme-tour': queue, 'GET /api/v1/queues/acme-tour/stats': now, [CONTROLS]: response ?? queue })
  signInAs()
  useStatsStore().setQueue(now)
  panel = mountApp(ControlsPanel, { settings: queue, stats: now }, () => provideQueue(() => 'acme-tour'))
  await flushPromises()
  return requests
}

const form = () => panel.find('form.message')
const button = (text: string) => form().findAll('button').find((it) => it.text() === text)
const changes = (requests: ApiRequest[]) => requests.filter(({ line }) => line === CONTROLS).map(({ body }) => body)

async function confirm(action: string): Promise<void> {
  await flushPromises()
  getElement<HTMLButtonElement>('[role="dialog"] button', action).closest('form')!.requestSubmit()
  await flushPromises()
}

test('a message is shown with its effect, length and languages', async () => {
  const requests = await controls()
  expect(button('Remove message …')).toBeUndefined()
  const [text] = form().findAll('textarea')
  await text!.setValue(' Floor tickets are sold out 🎫 ')
  expect(form().find('.hint').text()).toBe('28 of 280 characters')
  await form().find('select').setValue('de')
  await form().findAll('textarea')[1]!.setValue('Ausverkauft.')
  expect(form().findAll('label').map((label) => label.text())).toEqual(['Text for all other languages', 'German', 'Other languages'])
  await form().trigger('submit')
  await flushPromises()
  expect(getElement('[role="dialog"]').textContent).toContain('4,210 visitors will see this.')
  expect(changes(requests)).toEqual([])
  await confirm('Show message')
  expect(changes(requests)).toEqual([{ message: { default: 'Floor tickets are sold out 🎫', de: 'Ausverkauft.' } }])
})

test('an empty or long message is rejected without a dialog', async () => {
  const requests = await controls({ default: 'Sold out.' })
  for (const wrong of ['', ' ', 'x'.repeat(281)]) {
    await form().find('textarea').setValue(wrong)
    await form().trigger('submit')
    expect(form().find('.error').text()).toBe('Enter a text of 1 to 280 characters.')
  }
  expect(document.querySelector('[role="dialog"]')).toBeNull()
  expect(changes(requests)).toEqual([])
})

test('Enter shows the message, except during composition', async () => {
  await controls()
  const text = form().find('textarea')
  await text.setValue('売り切れ')
  await text.trigger('keydown', { key: 'Enter', isComposing: true })
  await flushPromises()
  expect(document.querySelector('[role="dialog"]')).toBeNull()
  await text.trigger('keydown', { key: 'Enter' })
  await flushPromises()
  expect(getElement('[role="dialog"]').textContent).toContain('売り切れ')
})

test('line breaks of a pasted message become spaces', async () => {
  await controls()
  const text = form().find('textarea')
  await text.setValue('Sold out.  \r\n\r\nThank you!')
  expect(text.element.value).toBe('Sold out. Thank you!')
})

test('a refused message names its language', async () => {
  const refusal = problemResponse(422, 'validation_failed', { errors: [{ code: 'takes', field: 'message.de', detail: 'is wrong' }] })
  await controls({ default: 'Sold out.', de: 'Ausverkauft.' }, {}, refusal)
  await form().find('textarea').setValue('Sold out!')
  await form().trigger('submit')
  await confirm('Show message')
  expect(getElement('[role="dialog"]').textContent).toMatch(/Message, German:\s*is wrong/)
})

test('a message and one language of it are removed', async () => {
  const requests = await controls({ default: 'Sold out.', de: 'Ausverkauft.' })
  expect(form().find('p').text()).toBe('4,210 visitors see this message.')
  await button('Remove German')!.trigger('click')
  await form().trigger('submit')
  await confirm('Show message')
  await button('Remove message …')!.trigger('click')
  await confirm('Remove message')
  expect(changes(requests)).toEqual([{ message: { default: 'Sold out.', de: null } }, { message: null }])
})

test('lobby visitors see the message; in bypass nobody does', async () => {
  const shown = () => form().find('p').text()
  await controls({ default: 'Doors open soon.' }, { waiting: 0, mode: 'scheduled', effective_mode: 'lobby', event: { phase: 'lobby', lobby_tickets: 50_021, awaits_beacon: false } })
  expect(shown()).toBe('50,021 visitors see this message.')
  await button('Remove message …')!.trigger('click')
  await flushPromises()
  expect(getElement('[role="dialog"]').textContent).toContain('50,021 visitors will no longer see the message.')
  panel.unmount()
  await controls({ default: 'Doors open soon.' }, { mode: 'scheduled', effective_mode: 'bypass' })
  expect(shown()).toBe('0 visitors see this message.')
})

test('the message is edited in German', async () => {
  locale.value = 'de'
  await controls({ default: 'Sold out.' })
  expect(button('Nachricht anzeigen …')?.attributes('disabled')).toBeDefined()
  expect(button('Nachricht entfernen …')).toBeDefined()
  expect(form().find('.hint').text()).toBe('9 von 280 Zeichen')
})
