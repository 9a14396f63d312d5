import { computed, watchEffect } from 'vue'
import { usePreferredDark } from '@vueuse/core'
import { defineStore } from 'pinia'

import { useLocalStorage } from '@/composables/useLocalStorage'

export const SCHEMES = ['system', 'light', 'dark'] as const
export type Scheme = (typeof SCHEMES)[number]

/** Preferences of the operator in this browser. */
export const usePreferencesStore = defineStore('preferences', () => {
  const scheme = useLocalStorage<Scheme>('scheme', 'system', (value) => (SCHEMES as readonly string[]).includes(value))
  /** The tenant that lists are filtered by; `null` for all tenants. */
  const tenant = useLocalStorage<string | null>('tenant', null, () => true)
  const prefersDark = usePreferredDark()
  const isDark = computed(() => (scheme.value === 'system' ? prefersDark.value : scheme.value === 'dark'))

  watchEffect(() => {
    document.documentElement.dataset.scheme = isDark.value ? 'dark' : 'light'
  })

  return { scheme, tenant, isDark }
})
