import { flushPromises } from '@vue/test-utils'
import { effectScope } from 'vue'
import { expect, test, vi } from 'vitest'

import * as archive from '@/domain/archive'
import { bytesOf, textOf } from '@/domain/theme-files'
import { problemResponse, mockApi } from '@/testing/api'

import { themeErrors } from './errors'
import { useThemeDraft, type ThemeDraft } from './draft'

const version = (id: string, live = false) => ({ id, at: 1, operator: 'otto', files: 1, bytes: 9, live })
const begin = (isLive = false) => effectScope().run(() => useThemeDraft('acme', isLive)) as ThemeDraft
const archived = (text: string) => vi.spyOn(archive, 'unzip').mockResolvedValue(new Map([['queue.html', bytesOf(text)]]))
const VERSIONS = 'GET /api/v1/themes/acme/versions'
const UPLOAD = 'POST /api/v1/themes/acme/versions'

test('a draft starts with the newest version', async () => {
  archived('page')
  const requests = mockApi({ [VERSIONS]: { revision: 1, versions: [version('2-b'), version('1-a', true)] }, 'GET /api/v1/themes/acme/versions/2-b/download': {} })
  const work = begin()
  await flushPromises()
  expect(requests.map(({ line }) => line)).toContain('GET /api/v1/themes/acme/versions/2-b/download')
  expect(work.base.value?.id).toBe('2-b')
  expect(work.isChanged.value).toBe(false)
})

test('a saved version becomes the base', async () => {
  const versions = [version('1-a')]
  const requests = mockApi({ [VERSIONS]: () => ({ revision: 0, versions }), [UPLOAD]: () => (versions.unshift(version('2-b')), version('2-b')), 'GET /api/v1/themes/acme/versions/1-a/download': {} })
  archived('page')
  const work = begin()
  await flushPromises()
  work.write('logo.svg', bytesOf('<svg/>'))
  expect(work.isChanged.value).toBe(true)
  expect(await work.save()).toBe(true)
  expect(work.isChanged.value).toBe(false)
  expect(work.base.value?.id).toBe('2-b')
  const sent = requests.find(({ line }) => line === UPLOAD)?.body
  expect(sent).toEqual({ files: [{ path: 'queue.html', base64: btoa('page') }, { path: 'logo.svg', base64: btoa('<svg/>') }] })
})

test('an invalid draft is not saved and keeps its errors', async () => {
  let isBroken = true
  const errors = [{ code: 'takes', field: 'queue.html:3', detail: 'x' }]
  mockApi({ [VERSIONS]: { revision: 0, versions: [] }, [UPLOAD]: () => (isBroken ? problemResponse(422, 'theme_invalid', { errors }) : { files: 1, bytes: 1 }) })
  const work = begin()
  await flushPromises()
  work.write('queue.html', bytesOf('{{'))
  expect(await work.save()).toBe(false)
  expect(work.isChanged.value).toBe(true)
  expect(themeErrors(work.problem.value)).toEqual([{ path: 'queue.html', line: 3, message: 'x' }])
  isBroken = false
  expect(await work.check()).toBe(true)
  expect(work.problem.value).toBeUndefined()
})

test('a saved version stays the base if reading fails', async () => {
  let isThere = true
  mockApi({ [VERSIONS]: () => (isThere ? { revision: 0, versions: [] } : problemResponse(503, 'theme_storage_unavailable')), [UPLOAD]: version('1-a') })
  const work = begin()
  await flushPromises()
  work.write('extra.css', bytesOf('x'))
  isThere = false
  expect(await work.save()).toBe(true)
  expect(work.base.value?.id).toBe('1-a')
  expect(work.isChanged.value).toBe(false)
})

test('a draft starts with files copied by hand', async () => {
  archived('by hand')
  const versions: object[] = []
  const requests = mockApi({
    [VERSIONS]: () => ({ revision: 0, versions }),
    'GET /api/v1/themes/acme/download': {},
    [UPLOAD]: () => (versions.unshift(version('1-a')), version('1-a')),
  })
  const work = begin(true)
  await flushPromises()
  expect(textOf(work.files.value.get('queue.html'))).toBe('by hand')
  expect(work.isChanged.value).toBe(false)
  expect(work.base.value).toBeUndefined()
  work.write('extra.css', bytesOf('x'))
  await work.save()
  expect(requests.find(({ line }) => line === UPLOAD)?.body).toMatchObject({ files: [{ path: 'queue.html', base64: btoa('by hand') }, { path: 'extra.css' }] })
  expect(work.versions.data.value).toEqual({ revision: 0, versions })
})

test('a new theme starts empty', async () => {
  const requests = mockApi({ [VERSIONS]: { revision: 0, versions: [] } })
  const work = begin()
  await flushPromises()
  expect(requests).toHaveLength(1)
  expect(work.files.value.size).toBe(0)
})

test('deactivation keeps the draft', async () => {
  archived('page')
  let isLive = true
  const requests = mockApi({
    [VERSIONS]: () => ({ revision: 4, versions: [version('1-a', isLive)] }),
    'GET /api/v1/themes/acme/versions/1-a/download': {},
    'POST /api/v1/themes/acme/deactivate': () => ((isLive = false), 204),
  })
  const work = begin(true)
  await flushPromises()
  work.write('extra.css', bytesOf('x'))
  expect(await work.deactivate()).toBe(true)
  expect(requests.find(({ line }) => line.endsWith('/deactivate'))?.headers.get('if-match')).toBe('"4"')
  expect(work.base.value?.live).toBe(false)
  expect(work.isChanged.value).toBe(true)
  work.drop()
  expect(work.isChanged.value).toBe(false)
})

test('after a conflict, activation uses the current revision', async () => {
  archived('page')
  const ACTIVATE = 'POST /api/v1/themes/acme/versions/1-a/activate'
  let revision = 4
  const asked = mockApi({
    [VERSIONS]: () => ({ revision, versions: [version('2-b', revision === 5), version('1-a', revision === 6)] }),
    'GET /api/v1/themes/acme/versions/2-b/download': {},
    [ACTIVATE]: () => (revision === 4 ? ((revision = 5), problemResponse(412, 'revision_conflict')) : ((revision = 6), version('1-a', true))),
  })
  const work = begin()
  await flushPromises()
  expect(await work.activate(version('1-a'))).toBe(false)
  expect(work.problem.value?.code).toBe('revision_conflict')
  expect(work.versions.data.value?.versions.map(({ live }) => live)).toEqual([true, false])
  expect(await work.activate(version('1-a'))).toBe(true)
  expect(asked.filter(({ line }) => line === ACTIVATE).map(({ headers }) => headers.get('if-match'))).toEqual(['"4"', '"5"'])
  expect(work.versions.data.value?.versions.map(({ live }) => live)).toEqual([false, true])
})
