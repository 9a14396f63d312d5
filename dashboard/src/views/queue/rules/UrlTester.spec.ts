import { flushPromises } from '@vue/test-utils'
import { expect, test } from 'vitest'

import { mockApi, problemResponse, type ApiRequest } from '@/testing/api'
import { settings } from '@/testing/fixtures'
import { getElement, mountApp, signInAs } from '@/testing/mount'

import { provideQueue } from '../useQueue'
import UrlTester from './UrlTester.vue'

const RESULT = { host: 'tickets.example.com', path: '/', readings: [], outcome: 'bypass', queue: 'acme-tour', evaluated: [] }

async function tester(answer: Response | object): Promise<ApiRequest[]> {
  const requests = mockApi({ 'GET /api/v1/queues/acme-tour': settings(), 'POST /api/v1/url-tests': answer })
  signInAs()
  mountApp(UrlTester, {}, () => provideQueue(() => 'acme-tour'))
  await flushPromises()
  return requests
}

async function run(fields: Record<string, string>): Promise<void> {
  for (const [label, text] of Object.entries(fields)) {
    const field = document.getElementById(getElement<HTMLLabelElement>('label', label).htmlFor) as HTMLInputElement
    field.value = text
    field.dispatchEvent(new Event('input'))
    await flushPromises()
  }
  getElement<HTMLFormElement>('form').requestSubmit()
  await flushPromises()
}

const tested = (requests: ApiRequest[]) => requests.filter(({ line }) => line.startsWith('POST')).map(({ body }) => body)

test('lists and headers of the tested request are sent', async () => {
  const requests = await tester(RESULT)
  await run({ 'Lists of networks': 'offices\n\n carriers ', Headers: 'cf-bot-score: 20' })
  expect(tested(requests)).toEqual([
    expect.objectContaining({ lists: ['offices', 'carriers'], headers: { 'cf-bot-score': '20' } }),
  ])
})

test('empty fields are not sent; invalid lists are marked', async () => {
  const error = { field: 'lists[0]', code: 'takes', detail: 'must be the name of a list', params: {} }
  const requests = await tester(problemResponse(422, 'validation_failed', { errors: [error] }))
  await run({})
  expect(tested(requests)[0]).not.toHaveProperty('lists')
  const field = document.getElementById(getElement<HTMLLabelElement>('label', 'Lists of networks').htmlFor)
  expect(field?.getAttribute('aria-invalid')).toBe('true')
})

test('a queue of another tenant is named once', async () => {
  const reason = { code: 'rule_queued', params: { rule: 1 } }
  await tester({
    ...RESULT,
    evaluated: [
      { message: { code: 'foreign_queue' }, reason: 'a queue of another tenant' },
      { queue: 'acme-tour', host: '*', message: reason, reason: 'Rule 1 matched; the request is queued.', rule: 0 },
    ],
  })
  await run({})
  const steps = [...document.querySelectorAll('ol.results li')].map((step) => step.textContent?.trim().replace(/\s+/g, ' '))
  expect(steps).toEqual(['A queue of another tenant.', 'acme-tour (*): Rule 1 matched; the request is queued.'])
})
