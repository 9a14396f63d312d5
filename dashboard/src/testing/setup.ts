import { createPinia, setActivePinia } from 'pinia'
import { beforeEach, vi } from 'vitest'

import { locale, zone } from '@/locale'

// jsdom has no media and nothing to scroll.
vi.stubGlobal('matchMedia', (media: string) => ({ media, matches: false, addEventListener: vi.fn(), removeEventListener: vi.fn() }))
vi.stubGlobal('scrollTo', vi.fn())

// The same words and times on every machine, and stores that nobody else has written to.
beforeEach(() => {
  locale.value = 'en'
  zone.value = 'UTC'
  localStorage.clear()
  setActivePinia(createPinia())
})
