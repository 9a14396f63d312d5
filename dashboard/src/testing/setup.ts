import { beforeEach } from 'vitest'

import { locale, zone } from '@/locale'

// The same words and times on every machine.
beforeEach(() => {
  locale.value = 'en'
  zone.value = 'UTC'
  localStorage.clear()
})
