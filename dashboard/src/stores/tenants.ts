import { computed, ref } from 'vue'
import { defineStore } from 'pinia'

import { listTenants } from '@/services/tenants'
import type { TenantView } from '@/services/types'

/** The tenants that the operator may see. */
export const useTenants = defineStore('tenants', () => {
  const tenants = ref<TenantView[]>([])
  const isLoaded = ref(false)
  const names = computed(() => new Map(tenants.value.map(({ id, name }) => [id, name])))

  async function load(): Promise<void> {
    tenants.value = (await listTenants()).tenants
    isLoaded.value = true
  }

  const nameOf = (id: string) => names.value.get(id) ?? id

  return { tenants, isLoaded, load, nameOf }
})
