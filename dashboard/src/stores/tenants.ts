import { computed, ref } from 'vue'
import { defineStore } from 'pinia'

import { shownName } from '@/domain/shown-name'
import { listTenants } from '@/api/tenants'
import type { TenantView } from '@/api/types'

/** The tenants that are visible to the operator. */
export const useTenantsStore = defineStore('tenants', () => {
  const tenants = ref<TenantView[]>([])
  const isLoaded = ref(false)
  const names = computed(() => new Map(tenants.value.map(({ id, name }) => [id, shownName(name, id)])))

  async function load(): Promise<void> {
    tenants.value = (await listTenants()).tenants
    isLoaded.value = true
  }

  const nameOf = (id: string) => names.value.get(id) ?? id

  return { tenants, isLoaded, load, nameOf }
})
