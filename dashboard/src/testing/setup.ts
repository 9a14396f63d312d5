import { createPinia, setActivePinia } from 'pinia'
import { beforeEach, vi } from 'vitest'

import { locale, zone } from '@/locale'
import { browserLanguages } from '@/locale/locale'

// jsdom has no media and nothing to scroll.
vi.stubGlobal('matchMedia', (media: string) => ({ media, matches: false, addEventListener: vi.fn(), removeEventListener: vi.fn() }))
vi.stubGlobal('scrollTo', vi.fn())

// The same words and times on every machine, and stores that nobody else has written to.
beforeEach(() => {
  locale.value = 'en'
  zone.value = 'UTC'
  browserLanguages.value = ['en-GB']
  localStorage.clear()
  setActivePinia(createPinia())
})
