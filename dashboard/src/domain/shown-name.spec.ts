import { expect, test } from 'vitest'

import { shownName } from './shown-name'

test('a name that stands for the host is shown as the ID', () => {
  expect([shownName('World tour', 'tour'), shownName('', 'tour'), shownName(undefined, 'tour'), shownName('{host}', 'site'), shownName('Shop {host}', 'site')]).toEqual(['World tour', 'tour', 'tour', 'site', 'site'])
})
