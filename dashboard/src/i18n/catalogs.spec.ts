import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { locale, te } from '.'
import de from './locales/de.json'
import en from './locales/en.json'

const { ErrorCode: codes } = JSON.parse(readFileSync('../openapi.json', 'utf8')).components.schemas
const english = codes['x-english'] as Record<string, string>
const source = (name: string) => JSON.parse(readFileSync(`src/i18n/locales/${name}.json`, 'utf8'))

function keys(catalog: object, path = ''): string[] {
  return Object.entries(catalog).flatMap(([name, value]) => (typeof value === 'object' ? keys(value, `${path}${name}.`) : `${path}${name}`))
}

const parameters = (text: string) => new Set([...text.matchAll(/\{([a-z_]+)\}/g)].map(([, name]) => name))

test('the catalogs have the same keys', () => {
  const own = (catalog: object) => keys(catalog).filter((key) => !key.startsWith('api.')).toSorted()
  expect(own(source('de'))).toEqual(own(source('en')))
})

test('every message of the API is translated with its parameters', () => {
  expect(Object.keys(english).filter((code) => !(code in de.api))).toEqual([])
  for (const [name, { api }] of [['de', source('de')], ['en', source('en')]] as const) {
    for (const [code, text] of Object.entries(api as Record<string, string>)) {
      // The current revision is not shown.
      const wanted = parameters(english[code] ?? '')
      wanted.delete('revision')
      expect([...wanted].filter((parameter) => !parameters(text).has(parameter)), `${name}: ${code}: ${text}`).toEqual([])
    }
  }
  expect(Object.keys(en.api).filter((code) => !(code in english))).toEqual([])
})

// Several are joined with a space.
test('consequences that an operator confirms are sentences', () => {
  const texts = [...Object.entries(english), ...Object.entries(source('de').api as Record<string, string>)]
  expect(texts.filter(([code, text]) => code.startsWith('will_') && !text.endsWith('.'))).toEqual([])
})

test.each(['en', 'de'] as const)('every state of a preview has a name (%s)', (name) => {
  const { ThemeDraft: draft } = JSON.parse(readFileSync('../openapi.json', 'utf8')).components.schemas
  const states = draft.properties.states.items.enum as string[]
  expect(states).toContain('lobby')
  expect(states.filter((state) => !(state in source(name).themes.states))).toEqual([])
})

test.each(['en', 'de'] as const)('every audit event has a text (%s)', (name) => {
  locale.value = name
  const api = '../crates/admin/src'
  const files = readdirSync(api, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.rs'))
  const actions = files.flatMap((file) =>
    [...readFileSync(join(api, file), 'utf8').matchAll(/"((?:queue|job_queue|session|tenant|theme|operator|token|account|settings|invitations)\.[a-z_]+)"/g)].map(([, action]) => action),
  )
  expect(actions.length).toBeGreaterThan(20)
  expect([...new Set(actions)].filter((action) => action !== 'queue.html' && !te(`audit.events.${action}`))).toEqual([])
})

test('German texts use standard terms', () => {
  const text = JSON.stringify(source('de'))
  for (const word of ['Administrator', 'Durchlass', 'Steuerung']) expect(text).toContain(word)
  for (const word of ['Verwalter', 'Umgangen', 'Hebel']) expect(text).not.toContain(word)
})
