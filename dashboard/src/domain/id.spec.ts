import { expect, test } from 'vitest'

import { idFrom } from './id'

test('an id is derived from a name', () => {
  expect(['Acme Live!', 'Große Bühne Köln', 'Crème & Brûlée', '  ', '日本', 'x'.repeat(80)].map(idFrom)).toEqual([
    'acme-live',
    'grosse-buehne-koeln',
    'creme-brulee',
    '',
    '',
    'x'.repeat(63),
  ])
})
