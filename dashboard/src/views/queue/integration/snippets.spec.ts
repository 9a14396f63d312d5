import { expect, test } from 'vitest'

import { settings } from '@/testing/fixtures'

import handover from '@/../../docs/integrate.md?raw'
import { keepalive, exampleHost, hostList, snippets } from './snippets'

const squeezed = (text: string) => text.replace(/\s+/g, ' ').trim()
const block = (language: string) => squeezed(handover.match(new RegExp('```' + language + '\\n([^`]*)```'))?.[1] ?? '')
const check = settings({ handover: { kind: 'check' } })
const text = (id: string) => squeezed(snippets(check).find((snippet) => snippet.id === id)?.text ?? '')

test('the snippets match the documentation', () => {
  expect(text('caddy')).toBe(block('caddy'))
  expect(text('traefik')).toBe(block('yaml'))
})

test('nginx passes every header that the gate reads', () => {
  const lines = (text: string) => text.split(';').map((line) => squeezed(line.replace(/.*[{}]/s, ''))).toSorted()
  expect(lines(text('nginx'))).toEqual(lines(block('nginx')))
})

test('load balancer rules use the queue’s hosts and paths', () => {
  const rules = [{ action: 'queue' as const, path: ['/shop/**', '/tickets'] }, { action: 'bypass' as const, path: ['/static/**'] }]
  const [alb] = snippets(settings({ handover: { kind: 'redirect', origin: 'https://tickets.example.com' }, rules }))
  expect(alb?.text).toContain('HostHeaderConfig: { Values: ["tickets.example.com"] }')
  expect(alb?.text).toContain('PathPatternConfig: { Values: ["/shop/*", "/tickets"] }')
  expect(alb?.text).not.toContain('static')
})

test('a site on another host loads the script from the gate', () => {
  expect(keepalive(settings())).toBe('<script src="/_vestibule/keepalive.js" data-queue="acme-tour" defer></script>')
  const elsewhere = settings({ handover: { kind: 'redirect', origin: 'https://www.example.com' } })
  expect(keepalive(elsewhere)).toContain('src="https://tickets.example.com/_vestibule/keepalive.js"')
  const same = settings({ handover: { kind: 'redirect', origin: 'https://tickets.example.com' } })
  expect(keepalive(same)).toContain('src="/_vestibule/keepalive.js"')
})

test('a wildcard queue uses an example host', () => {
  expect(hostList(['*'])).toBe('tickets.example.com')
  expect(hostList(['*', 'shop.example.com', '*.example.org'])).toBe('shop.example.com, *.example.org')
  expect(exampleHost(['*'])).toBe('tickets.example.com')
  expect(exampleHost(['*.example.org'])).toBe('www.example.org')
})
