import { expect, test } from 'vitest'

import { Problem } from '@/api/problem'

import { themeErrors } from './errors'

test('a error is received by file and line', () => {
  const error = (field: string) => ({ code: 'takes' as 'no_files', field, message: 'x' })
  const errors = [error('queue.html:12'), error('img/a.tiff'), error('.')]
  const problem = new Problem(422, { error: { code: 'broken_theme', message: 'x' }, errors })
  expect(themeErrors(problem)).toEqual([{ path: 'queue.html', line: 12, message: 'x' }, { path: 'img/a.tiff', message: 'x' }, { message: 'x' }])
  expect(themeErrors(new Problem(422, { error: { code: 'wrong_fields', message: 'x' }, errors }))).toEqual([])
})
