import { expect, test } from 'vitest'

import { Problem } from '@/api/problem'

import { themeErrors } from './errors'

const PROBLEM = { type: 'about:blank', title: '', status: 400 }

test('an error has its file and line', () => {
  const error = (field: string) => ({ code: 'takes' as 'no_files', field, detail: 'x' })
  const errors = [error('queue.html:12'), error('img/a.tiff'), error('.')]
  const problem = new Problem(422, { ...PROBLEM, code: 'theme_invalid', detail: '', errors })
  expect(themeErrors(problem)).toEqual([{ path: 'queue.html', line: 12, message: 'x' }, { path: 'img/a.tiff', message: 'x' }, { message: 'x' }])
  expect(themeErrors(new Problem(422, { ...PROBLEM, code: 'validation_failed', detail: '', errors }))).toEqual([])
})
