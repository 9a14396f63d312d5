import { flushPromises, type VueWrapper } from '@vue/test-utils'
import { reactive } from 'vue'
import { expect, test } from 'vitest'

import { locale } from '@/i18n'
import type { QueueForecast as Forecast, QueueSettings } from '@/api/types'
import { mockApi } from '@/testing/api'
import { settings, stats } from '@/testing/fixtures'
import { getElement, mountApp } from '@/testing/mount'
import { useStatsStore } from '@/stores/stats'

import { provideQueue } from '../useQueue'
import { forecastSentences } from './forecast'
import QuotaForecast from './QuotaForecast.vue'

let card: VueWrapper
let props: { settings: QueueSettings }

const plain = (text: string) => text.replace(/[\s\u00a0\u202f]+/g, ' ')
const forecast = (changes: Partial<Forecast> = {}): Forecast => ({
  quota: 600, at: 1_700_000_000, begins_at: null, waiting: 1200, admitted_now: 100,
  last_wait_seconds: { p50: 1200, p90: 1500 }, line_ends_at: { p50: 1_700_001_200, p90: 1_700_001_500 }, ...changes,
})
const told = (changes: Partial<Forecast> = {}, isAdmitting = true) => forecastSentences(forecast(changes), isAdmitting).map(plain)

test('a forecast tells who is admitted, the last wait and the end', () => {
  expect(told()).toEqual(['100 visitors are admitted at once.', 'The last of 1,200 waiting visitors waits 20 min to 25 min.', expect.stringMatching(/^The line of now ends between .* and .*\.$/)])
  expect(told({}, false)[0]).toBe('If the queue opened now:')
  expect(told({ begins_at: 1_700_000_300 }, false)[0]).toBe('From the start of admissions on:')
  expect(told({ waiting: 1, admitted_now: 1 })).toEqual(['1 visitor is admitted at once.'])
  expect(told({ quota: 0 })).toEqual(['Nobody is admitted at a quota of 0.'])
  expect(told({ waiting: 0, admitted_now: 0 })).toEqual(['The line is empty.'])
  expect(told({ admitted_now: 0, last_wait_seconds: null, line_ends_at: null })).toEqual(['There is no estimate for the rest of the line.'])
  locale.value = 'de'
  expect(told({ admitted_now: 0 })[0]).toBe('Der letzte von 1.200 Wartenden wartet 20 min bis 25 min.')
})

async function open(canEdit: boolean) {
  const now = stats({ waiting: 1200, active: 100 })
  const requests = mockApi({ 'GET /api/v1/queues/acme-tour': settings(), 'GET /api/v1/queues/acme-tour/stats': now, 'GET /api/v1/queues/acme-tour/forecast': ({ line }) => forecast({ quota: Number(line.split('=')[1]) }) })
  useStatsStore().setQueue(now)
  props = reactive({ settings: settings(), stats: now, canEdit })
  card = mountApp(QuotaForecast, props, () => provideQueue(() => 'acme-tour'))
  await flushPromises()
  return requests.filter(({ line }) => line.includes('forecast'))
}

test('the slider requests a forecast and changes nothing', async () => {
  expect(await open(true)).toEqual([])
  const details = getElement<HTMLDetailsElement>('details')
  details.open = true
  details.dispatchEvent(new Event('toggle'))
  await flushPromises()
  expect(plain(card.find('output').text())).toContain('100 visitors are admitted at once.')
  const slider = card.find('input[type="range"]')
  await slider.setValue('150')
  expect([slider.attributes('aria-valuetext'), card.find('label').attributes('for')]).toEqual(['150', slider.attributes('id')])
  await card.findAll('button').find((button) => button.text() === 'Set quota to 150 …')!.trigger('click')
  await flushPromises()
  expect(getElement('[role="dialog"]').textContent).toContain('Set the quota to 150?')
})

test('a lowered quota does not move the slider below its value', async () => {
  await open(true)
  const details = getElement<HTMLDetailsElement>('details')
  details.open = true
  details.dispatchEvent(new Event('toggle'))
  const slider = card.find<HTMLInputElement>('input[type="range"]')
  await slider.setValue('350')
  props.settings = settings({ quota: 10 })
  await flushPromises()
  expect([slider.attributes('max'), slider.element.value]).toEqual(['400', '350'])
  expect(card.text()).toContain('Set quota to 350 …')
  const number = card.find<HTMLInputElement>('input[inputmode="numeric"]')
  await number.setValue('900')
  expect([slider.attributes('max'), slider.element.value, number.element.value]).toEqual(['900', '900', '900'])
  await number.setValue('20000000')
  expect(card.text()).toContain('Enter a whole number from 0 to 10,000,000.')
  expect(card.findAll('button').at(-1)!.attributes('disabled')).toBeDefined()
})

test('a viewer has the slider without the button', async () => {
  await open(false)
  expect(card.find('input[type="range"]').exists()).toBe(true)
  expect(card.find('button').exists()).toBe(false)
})
