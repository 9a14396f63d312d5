import { flushPromises } from '@vue/test-utils'
import { effectScope, nextTick, ref, type EffectScope } from 'vue'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import { bytesOf } from '@/domain/theme-files'
import type { PreviewState } from '@/api/types'
import { problemResponse, mockApi } from '@/testing/api'

import { PAUSE, usePreview, WAIT_MAX, type PreviewInput, type Preview } from './preview'

const PREVIEW = 'POST /api/v1/themes/acme/preview'
const broken = () => problemResponse(422, 'theme_invalid', { errors: [{ code: 'template_fault', field: 'queue.html:2', detail: 'x' }] })
const rendered = (html: string) => ({ asset_base: 'https://theme.invalid/', nonce: 'n', pages: [{ state: 'waiting', html }] })

let scope: EffectScope

beforeEach(() => {
  vi.useFakeTimers()
  scope = effectScope()
})
afterEach(() => {
  scope.stop()
  vi.useRealTimers()
})

function begin(text = 'one') {
  const files = ref(new Map([['queue.html', bytesOf(text)], ['img/logo.svg', bytesOf('<svg/>')]]))
  const states = ref<PreviewState[]>(['waiting'])
  const language = ref('en')
  const isThere = ref(true)
  const input = (): PreviewInput | undefined => (isThere.value ? { files: files.value, states: states.value, language: language.value } : undefined)
  const preview = scope.run(() => usePreview('acme', input)) as Preview
  const write = async (now: string) => {
    files.value = new Map([...files.value, ['queue.html', bytesOf(now)]])
    await nextTick()
  }
  return { preview, write, states, language, isThere }
}

const texts = (requests: ReturnType<typeof mockApi>) => requests.map(({ body }) => (body as { templates: { text: string }[] }).templates[0]?.text)
const html = ({ rendered }: Preview) => rendered.value?.pages[0]?.html

test('it starts at once with templates and asset names', async () => {
  const requests = mockApi({ [PREVIEW]: rendered('page') })
  const { preview } = begin()
  await flushPromises()
  expect(html(preview)).toBe('page')
  expect(preview.isCurrent.value).toBe(true)
  expect(requests[0]?.body).toEqual({
    templates: [{ path: 'queue.html', text: 'one' }],
    assets: ['img/logo.svg'],
    states: ['waiting'],
    language: 'en',
  })
})

test('typing is debounced', async () => {
  const requests = mockApi({ [PREVIEW]: rendered('page') })
  const { write, preview } = begin()
  await flushPromises()
  for (const text of ['t', 'tw', 'two']) {
    await write(text)
    await vi.advanceTimersByTimeAsync(PAUSE - 1)
  }
  expect(texts(requests)).toEqual(['one'])
  expect(preview.isCurrent.value).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  expect(texts(requests)).toEqual(['one', 'two'])
  expect(preview.isCurrent.value).toBe(true)
})

test('continuous typing still updates the preview', async () => {
  const requests = mockApi({ [PREVIEW]: rendered('page') })
  const { write } = begin()
  await flushPromises()
  for (let at = 0; at <= 2 * WAIT_MAX; at += 100) {
    await write(`${at}`)
    await vi.advanceTimersByTimeAsync(100)
  }
  expect(requests).toHaveLength(3)
})

test('a new state or language is requested at once', async () => {
  const requests = mockApi({ [PREVIEW]: rendered('page') })
  const { states, language } = begin()
  await flushPromises()
  language.value = 'de'
  await flushPromises()
  states.value = ['closed']
  await flushPromises()
  expect(requests.map(({ body }) => body)).toMatchObject([{ language: 'en' }, { language: 'de' }, { states: ['closed'] }])
})

test('outdated responses are dropped', async () => {
  const answers: ((answer: Response) => void)[] = []
  vi.stubGlobal('fetch', (_: string, { signal }: RequestInit) => new Promise<Response>((resolve, reject) => {
    answers.push(resolve)
    signal?.addEventListener('abort', () => reject(new DOMException('', 'AbortError')))
  }))
  const { preview, write } = begin()
  await write('two')
  await vi.advanceTimersByTimeAsync(PAUSE)
  answers[1]?.(Response.json(rendered('new')))
  await flushPromises()
  answers[0]?.(Response.json(rendered('old')))
  await flushPromises()
  expect(html(preview)).toBe('new')
  expect(preview.problem.value).toBeUndefined()
})

test('errors have a line and the last valid page stays', async () => {
  let answer: () => Response | object = () => rendered('works')
  mockApi({ [PREVIEW]: () => answer() })
  const { preview, write } = begin()
  await flushPromises()
  answer = broken
  await write('{{')
  await vi.advanceTimersByTimeAsync(PAUSE)
  expect(preview.errors.value).toMatchObject([{ path: 'queue.html', line: 2 }])
  expect(html(preview)).toBe('works')
  expect(preview.isCurrent.value).toBe(false)
  answer = () => rendered('fixed')
  await write('{{ lang }}')
  await vi.advanceTimersByTimeAsync(PAUSE)
  expect(preview.errors.value).toEqual([])
  expect(html(preview)).toBe('fixed')
})

test('nothing is requested without files or after unmount', async () => {
  const requests = mockApi({ [PREVIEW]: rendered('page') })
  const { isThere, write } = begin()
  isThere.value = false
  await nextTick()
  requests.length = 0
  await write('two')
  await vi.advanceTimersByTimeAsync(PAUSE)
  expect(requests).toEqual([])
  isThere.value = true
  await nextTick()
  await write('three')
  scope.stop()
  requests.length = 0
  await vi.advanceTimersByTimeAsync(PAUSE)
  expect(requests).toEqual([])
})
