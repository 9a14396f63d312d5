import { computed, ref, type ComputedRef, type Ref } from 'vue'

import { ROLES } from '@/domain/roles'
import { t } from '@/i18n'
import type { Role } from '@/api/types'
import { useTenantsStore } from '@/stores/tenants'

/** Roles of API tokens with their permissions. */
export const tokenRoleOptions = computed(() => ROLES.map((value) => ({ value, label: t(`roles.names.${value}`), note: t(`roles.permissions.${value}`) })))

/** Roles of operators. Unlike tokens, operators can also create API tokens. */
export const roleOptions = computed(() =>
  tokenRoleOptions.value.map((role) => (role.value === 'operator' ? { ...role, note: `${role.note} ${t('roles.tokens')}` } : role)),
)

/** The role and tenants of a form. */
export interface Scope {
  role: Ref<Role>
  /** The selected tenants. */
  selected: Ref<string[]>
  /** The selectable tenants. */
  options: ComputedRef<{ value: string; label: string; note: string }[]>
  /** The selection as the API expects it: a superuser has no list of tenants. */
  value: ComputedRef<{ role: Role; tenants: string[] }>
  /** Starts with an existing scope, or with a role; the only tenant is then preselected. */
  reset(from: Role | { role: Role; tenants: readonly string[] }): void
}

export function useScope(): Scope {
  const store = useTenantsStore()
  const role = ref<Role>('viewer')
  const selected = ref<string[]>([])
  const options = computed(() => store.tenants.map(({ id }) => ({ value: id, label: store.nameOf(id), note: id })))
  const value = computed(() => ({ role: role.value, tenants: role.value === 'superuser' ? [] : selected.value }))

  function reset(from: Role | { role: Role; tenants: readonly string[] }): void {
    const only = store.tenants.length === 1 ? store.tenants.map(({ id }) => id) : []
    role.value = typeof from === 'string' ? from : from.role
    selected.value = typeof from === 'string' ? only : [...from.tenants]
  }

  return { role, selected, options, value, reset }
}
