import { flushPromises } from '@vue/test-utils'
import { expect, test, vi } from 'vitest'

import { bytesOf } from '@/domain/theme-files'
import * as archive from '@/domain/archive'
import { getElement, mountApp } from '@/testing/mount'
import { problemResponse, mockApi, type ApiRequest } from '@/testing/api'

import LogoField from './LogoField.vue'

const theme = (id: string, live: boolean, tenant = 'acme') => ({ id, tenant, live, queues: [] })
const SVG = '<svg xmlns="http://www.w3.org/2000/svg"/>'
const options = () => [...document.querySelectorAll('option')].map((option) => option.textContent?.trim())

async function open(logo: string, svg = SVG): Promise<ApiRequest[]> {
  vi.spyOn(archive, 'unzip').mockResolvedValue(new Map([['queue.html', bytesOf('x')], ['logo.svg', bytesOf(svg)]]))
  const requests = mockApi({
    'GET /api/v1/themes': { themes: [theme('acme', true), theme('acme-draft', false), theme('coral', true, 'coral')], states: [], languages: [] },
    'GET /api/v1/themes/acme/download': {},
  })
  mountApp(LogoField, { tenant: 'acme', modelValue: logo })
  await flushPromises()
  return requests
}

test('images of live themes are offered and previewed', async () => {
  const requests = await open('logo.svg')
  expect(options()).toEqual(['None (shows the name)', 'logo.svg (acme)'])
  expect(requests.filter(({ line }) => line.endsWith('/download'))).toHaveLength(1)
  expect(getElement('iframe').getAttribute('title')).toBe('Preview of logo.svg')
  expect(getElement('a', 'Upload').getAttribute('href')).toBe('/themes/acme')
})

test('a broken image is hidden', async () => {
  await open('logo.svg', 'no image')
  expect(document.querySelector('iframe')).toBeNull()
  expect(document.body.textContent).toContain('cannot display logo.svg')
})

test('a logo without a live theme stays selected', async () => {
  await open('old.png')
  expect(getElement<HTMLSelectElement>('select').value).toBe('old.png')
  expect(options()).toContain('old.png (in no live theme)')
  expect(document.querySelector('iframe')).toBeNull()
})

test('without themes the file name is typed', async () => {
  mockApi({ 'GET /api/v1/themes': problemResponse(409, 'theme_storage_not_configured') })
  mountApp(LogoField, { tenant: 'acme', modelValue: 'logo.svg' })
  await flushPromises()
  expect(getElement<HTMLInputElement>('input').value).toBe('logo.svg')
})
