import { computed, ref, type ComputedRef, type Ref } from 'vue'

import type { Role } from '@/services/types'
import { useTenants } from '@/stores/tenants'

/** A role and its tenants, as a form chooses them. */
export interface Scope {
  role: Ref<Role>
  /** The tenants that are ticked. */
  chosen: Ref<string[]>
  /** The tenants to choose from. */
  options: ComputedRef<{ value: string; label: string; note: string }[]>
  /** What is chosen, as the API takes it: a superuser names no tenants. */
  given: ComputedRef<{ role: Role; tenants: string[] }>
  /** Begins anew, with what somebody has or with a role: then the only tenant that there is need not be chosen. */
  begin(from: Role | { role: Role; tenants: readonly string[] }): void
}

export function useScope(): Scope {
  const store = useTenants()
  const role = ref<Role>('viewer')
  const chosen = ref<string[]>([])
  const options = computed(() => store.tenants.map(({ id, name }) => ({ value: id, label: name, note: id })))
  const given = computed(() => ({ role: role.value, tenants: role.value === 'superuser' ? [] : chosen.value }))

  function begin(from: Role | { role: Role; tenants: readonly string[] }): void {
    const only = store.tenants.length === 1 ? store.tenants.map(({ id }) => id) : []
    role.value = typeof from === 'string' ? from : from.role
    chosen.value = typeof from === 'string' ? only : [...from.tenants]
  }

  return { role, chosen, options, given, begin }
}
