import { flushPromises } from '@vue/test-utils'
import { expect, test } from 'vitest'

import { getElement, mountApp } from '@/testing/mount'

import QueueTabs from './QueueTabs.vue'

async function scrolled(to: number, width = 328): Promise<string[]> {
  const row = getElement('.scroller')
  Object.defineProperties(row, { scrollLeft: { value: to, configurable: true }, clientWidth: { value: width, configurable: true }, scrollWidth: { value: 500, configurable: true } })
  row.dispatchEvent(new Event('scroll'))
  await flushPromises()
  return [...row.classList].filter((name) => name !== 'scroller')
}

test('overflowing tabs fade on the side with more', async () => {
  mountApp(QueueTabs, { queue: 'acme-tour' })
  expect(await scrolled(0)).toEqual(['after'])
  expect(await scrolled(80)).toEqual(['before', 'after'])
  expect(await scrolled(172)).toEqual(['before'])
  expect(await scrolled(0, 500)).toEqual([])
})

test('every tab is a focusable link', () => {
  mountApp(QueueTabs, { queue: 'acme-tour' })
  const links = [...document.querySelectorAll('nav a')]
  expect(links.map((link) => link.textContent?.trim())).toEqual(['Live', 'Settings', 'Rules', 'Events', 'Invitations', 'Protection', 'Visitors', 'Log', 'Integration'])
  expect(links.every((link) => link.hasAttribute('href') && link.getAttribute('tabindex') === null)).toBe(true)
})
