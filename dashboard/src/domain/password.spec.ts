import { expect, test } from 'vitest'

import { suggestPassword } from './password'

test('suggested passwords are long, readable and unique', () => {
  const some = Array.from({ length: 50 }, suggestPassword)
  for (const one of some) expect(one).toMatch(/^([a-km-np-z2-9]{4}-){4}[a-km-np-z2-9]{4}$/)
  expect(new Set(some).size).toBe(50)
})
