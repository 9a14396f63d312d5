import { readFileSync } from 'node:fs'

import { mount } from '@vue/test-utils'
import { expect, test, vi } from 'vitest'

import { bytesOf, textOf, type ThemeFiles } from '@/domain/theme-files'

import PreviewFrame from './PreviewFrame.vue'

const files = (texts: Record<string, string>) => new Map(Object.entries(texts).map(([path, text]) => [path, bytesOf(text)]))

test('the frame gets changed files of a page that stays the same', async () => {
  const props = { html: '<p>', assetBase: '', nonce: '', label: '', width: 1, height: 1, room: 1 }
  const page = mount(PreviewFrame, { props: { ...props, files: files({ 'a.css': 'one', 'queue.html': 'x' }) }, attachTo: document.body })
  const { contentWindow } = page.get('iframe').element as HTMLIFrameElement
  const sent: ThemeFiles[] = []
  vi.spyOn(contentWindow as Window, 'postMessage').mockImplementation((data: { files: [] }) => void sent.push(new Map(data.files)))
  window.dispatchEvent(new MessageEvent('message', { source: contentWindow, data: 'ready' }))
  await page.setProps({ files: files({ 'a.css': 'two', 'queue.html': 'x' }) })
  expect(sent.map((all) => [...all].map(([path, content]) => [path, textOf(content)]))).toEqual([[['a.css', 'one']], [['a.css', 'two']]])
})

test('style sheets refer to those that they import', () => {
  const made: string[] = []
  const revoked: string[] = []
  vi.stubGlobal('Blob', class { constructor(readonly parts: string[]) {} })
  vi.stubGlobal('URL', Object.assign(URL, {
    createObjectURL: ({ parts }: { parts: string[] }) => `blob:${made.push(parts.join(''))}`,
    revokeObjectURL: (address: string) => revoked.push(address),
  }))
  document.head.innerHTML = '<style nonce="n"></style>'
  // The script of the frame is no module.
  globalThis.eval(readFileSync('../crates/admin/src/themes/frame.js', 'utf8'))
  const show = (texts: Record<string, string>): string => {
    const data = { html: '<link rel="stylesheet" href="https://theme.invalid/a.css">', asset_base: 'https://theme.invalid/', nonce: 'n', files: [...files(texts)] }
    window.dispatchEvent(new MessageEvent('message', { source: window, data }))
    return document.querySelector('link')?.getAttribute('href') ?? ''
  }
  /** The text of a style sheet, with those that it imports. */
  const resolved = (address: string): string => {
    expect(revoked).not.toContain(address)
    const text = made[Number(address.slice('blob:'.length)) - 1] ?? ''
    const imports = [...text.matchAll(/@import url\("(blob:\d+)"\);/g)].map(([, imported]) => resolved(imported ?? ''))
    return imports.join('') + text.replaceAll(/@import[^;]*;/g, '')
  }
  const first = show({ 'a.css': '@import "b.css";a{}', 'b.css': '@import url(c/d.css);b{}', 'c/d.css': '@import "/a.css";d{}' })
  expect(resolved(first)).toBe('d{}b{}a{}')
  const second = show({ 'c/d.css': 'new{}' })
  expect(resolved(second)).toBe('new{}b{}a{}')
  expect(revoked).toContain(first)
})
