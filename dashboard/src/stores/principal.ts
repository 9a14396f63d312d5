import { computed, ref } from 'vue'
import { defineStore } from 'pinia'

import * as service from '@/api/account'
import { problemOf } from '@/api/problem'
import type { Principal, Role } from '@/api/types'

const RANK: Record<Role, number> = { viewer: 0, operator: 1, superuser: 2 }

/** The signed-in operator and their permissions. */
export const usePrincipalStore = defineStore('principal', () => {
  /** `undefined` while it is loading, `null` if nobody is signed in. */
  const account = ref<Principal | null>()
  /** Whether the sign-in expired, which the sign-in page explains. */
  const signInExpired = ref(false)

  const isSuperuser = computed(() => hasRole('superuser'))
  const isOperator = computed(() => hasRole('operator'))
  /** Whether two-factor authentication must be set up before anything else. */
  const mustSetUpTotp = computed(() => account.value?.totp === 'required')

  function hasRole(role: Role): boolean {
    return account.value ? RANK[account.value.role] >= RANK[role] : false
  }

  /** Whether the operator may change things of this tenant. */
  function canEdit(tenant: string): boolean {
    const tenants = account.value?.tenants
    return isOperator.value && (!tenants || tenants.includes(tenant))
  }

  /** Loads the signed-in operator unless it is known. */
  async function load(): Promise<void> {
    if (account.value !== undefined) return
    try {
      account.value = await service.getPrincipal()
    } catch (error) {
      const problem = problemOf(error)
      if (!problem.isExpired) throw problem
      account.value = null
      // Nobody was signed in on this page, so no sign-in expired.
      signInExpired.value = false
    }
  }

  /** Reloads the operator: the role may have changed, or another operator signed in in another tab. */
  async function refresh(): Promise<void> {
    const now = await service.getPrincipal()
    if (now) account.value = now
    else expired()
  }

  async function signIn(name: string, password: string, code?: string): Promise<void> {
    await service.signIn(name, password, code)
    // The response to a sign-in does not include its expiry.
    await refresh()
    signInExpired.value = false
  }

  async function signOut(): Promise<void> {
    try {
      await service.signOut()
    } finally {
      account.value = null
      signInExpired.value = false
    }
  }

  /** Handles an expired sign-in. */
  function expired(): void {
    if (account.value) signInExpired.value = true
    account.value = null
  }

  return { account, signInExpired, isSuperuser, isOperator, mustSetUpTotp, hasRole, canEdit, load, refresh, signIn, signOut, expired }
})
