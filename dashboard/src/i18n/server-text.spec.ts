import { expect, test } from 'vitest'

import { locale } from '.'
import { fieldPath, serverSentence, serverText, type ServerMessage } from './server-text'

test('messages of the server are translated by code', () => {
  const what: ServerMessage = { code: 'whole_number', params: { least: 0, most: 10_000_000 } }
  const invalid: ServerMessage = { code: 'invalid_value', params: { what, given: '-1' } }
  expect(serverSentence(invalid, 'must be a whole number from 0 to 10000000; got -1')).toBe('Must be a whole number from 0 to 10000000; got -1.')
  locale.value = 'de'
  expect(serverSentence(invalid, '')).toBe('Erwartet eine ganze Zahl von 0 bis 10.000.000, nicht -1.')
})

test('a number that cannot be read is not shown as it was sent', () => {
  const what: ServerMessage = { code: 'whole_number', params: { least: 0, most: 10_000_000 } }
  const sent: ServerMessage = { code: 'invalid_value', params: { what, given: '"not a number"' } }
  expect(serverSentence(sent, 'must be a whole number from 0 to 10000000; got "not a number"')).toBe('Must be a whole number from 0 to 10,000,000.')
  const optional: ServerMessage = { code: 'invalid_value', params: { what: { code: 'or_none', params: { what } }, given: '"not a number"' } }
  expect(serverSentence(optional, '')).toBe('Must be a whole number from 0 to 10,000,000.')
  locale.value = 'de'
  expect(serverSentence(sent, '')).toBe('Erwartet eine ganze Zahl von 0 bis 10.000.000.')
})

test('a field of the API has its label', () => {
  const what: ServerMessage = { code: 'job_key' }
  expect(serverText({ code: 'invalid_id', params: { name: 'group_id', what } }, '')).toBe('Group must be 1 to 100 printable ASCII characters without spaces.')
})

test('unknown codes are shown in the English of the server', () => {
  locale.value = 'de'
  expect(serverText({ code: 'brand_new' }, 'is brand new')).toBe('is brand new')
  expect(serverText({ code: 'invalid', params: { what: { code: 'brand_new' } } }, 'must be something new')).toBe('must be something new')
})

test.each(['en', 'de'] as const)('rules and list entries are counted from one (%s)', (name) => {
  locale.value = name
  for (const code of ['rule_queued', 'rule_bypassed', 'rule_repeated']) {
    expect(serverText({ code, params: { rule: 1, queue: 'acme-tour', host: '*' } }, '')).toMatch(/(rule|Regel) 1 /i)
  }
  expect(fieldPath('queues[0].rules[1].path[9]')).toBe('queues[1].rules[2].path[10]')
})

test('seconds have one unit in German', () => {
  locale.value = 'de'
  for (const code of ['start_soon', 'lobby_soon']) {
    expect(serverText({ code, params: { seconds: 30 } }, '')).toMatch(/bis zu 30\ss (lang|wieder)/)
  }
})
