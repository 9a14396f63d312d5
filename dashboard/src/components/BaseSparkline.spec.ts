import { mount } from '@vue/test-utils'
import { expect, test } from 'vitest'

import BaseSparkline from './BaseSparkline.vue'

const line = (values: (number | null)[]) => mount(BaseSparkline, { props: { values, label: '' } }).get('.line').attributes('d')

test('the line has a gap at unknown values', () => {
  expect(line([0, 21, null, 0])).toBe('M0.0,23.0L32.0,2.0h0M96.0,23.0h0')
  expect(line([null, null])).toBe('')
})
