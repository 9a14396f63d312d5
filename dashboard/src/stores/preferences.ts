import { computed, watchEffect } from 'vue'
import { defineStore } from 'pinia'

import { useLocalStorage } from '@/composables/useLocalStorage'

export const SCHEMES = ['system', 'light', 'dark'] as const
export type Scheme = (typeof SCHEMES)[number]

/** What an operator chose for themselves in this browser. */
export const usePreferencesStore = defineStore('preferences', () => {
  const scheme = useLocalStorage<Scheme>('scheme', 'system', (value) => (SCHEMES as readonly string[]).includes(value))
  /** The one tenant whose things are shown; `null` for all. */
  const tenant = useLocalStorage<string | null>('tenant', null, () => true)
  const dark = matchMedia('(prefers-color-scheme: dark)')

  /** Charts are drawn in the colors of the moment. */
  const isDark = computed(() => (scheme.value === 'system' ? dark.matches : scheme.value === 'dark'))

  watchEffect(() => {
    document.documentElement.dataset.scheme = scheme.value
  })

  return { scheme, tenant, isDark }
})
