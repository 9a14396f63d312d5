import { VueQueryPlugin } from '@tanstack/vue-query'
import { config, enableAutoUnmount } from '@vue/test-utils'
import { createPinia, setActivePinia } from 'pinia'
import { afterEach, beforeEach, vi } from 'vitest'

import { queryClient } from '@/api/queries'
import { i18n, locale, zone } from '@/i18n'
import { browserLanguages } from '@/i18n/i18n'
import de from '@/i18n/locales/de.json'

// jsdom implements neither media queries nor scrolling.
vi.stubGlobal('matchMedia', (media: string) => ({ media, matches: false, addEventListener: vi.fn(), removeEventListener: vi.fn() }))
vi.stubGlobal('scrollTo', vi.fn())

i18n.global.setLocaleMessage('de', de)
config.global.plugins = [i18n, [VueQueryPlugin, { queryClient }]]

enableAutoUnmount(afterEach)

// Fixed language and time zone, and fresh stores.
beforeEach(() => {
  locale.value = 'en'
  zone.value = 'UTC'
  browserLanguages.value = ['en-GB']
  queryClient.clear()
  localStorage.clear()
  setActivePinia(createPinia())
})
