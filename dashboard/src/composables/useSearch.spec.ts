import { expect, test } from 'vitest'

import { useSearch } from './useSearch'

test('results contain every word in any order and case', () => {
  const { text, found } = useSearch(() => ['Acme Live', 'Acme Club', 'Coral'], (it) => it)
  expect(found.value).toHaveLength(3)
  text.value = ' live  ACME '
  expect(found.value).toEqual(['Acme Live'])
  text.value = 'x'
  expect(found.value).toEqual([])
})

test('short lists need no search', () => {
  expect(useSearch(() => [1, 2, 3], String).isWorth.value).toBe(false)
  expect(useSearch(() => Array.from({ length: 40 }, (_, index) => index), String).isWorth.value).toBe(true)
})
