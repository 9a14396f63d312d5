import { afterEach, expect, test, vi } from 'vitest'
import { mount } from '@vue/test-utils'

import BaseButton from './BaseButton.vue'

afterEach(() => vi.useRealTimers())

function button(props: { isBusy?: boolean; type?: 'submit' } = {}) {
  const onClick = vi.fn()
  const element = mount(BaseButton, { props, attrs: { onClick }, slots: { default: 'Save' } }).element as HTMLButtonElement
  return { onClick, element }
}

// Vue ignores an event at its second listener if that was added in the millisecond of the event.
test('a button responds to a click at once after rendering', () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  const { onClick, element } = button()
  element.click()
  expect(onClick).toHaveBeenCalledOnce()
})

test('a busy button ignores clicks and does not submit', () => {
  const { onClick, element } = button({ isBusy: true, type: 'submit' })
  const click = new MouseEvent('click', { bubbles: true, cancelable: true })
  element.dispatchEvent(click)
  expect(onClick).not.toHaveBeenCalled()
  expect(click.defaultPrevented).toBe(true)
})
