import { computed, ref } from 'vue'
import { defineStore } from 'pinia'

import * as service from '@/api/account'
import { problemOf } from '@/api/problem'
import type { Principal, Role } from '@/api/types'

const RANK: Record<Role, number> = { viewer: 0, operator: 1, superuser: 2 }

/** Who is signed in, and what they may. */
export const usePrincipalStore = defineStore('session', () => {
  /** `undefined` while that is not known, `null` for nobody. */
  const account = ref<Principal | null>()
  /** Whether the sign-in ended by itself, so that the page for the next one says so. */
  const signInExpired = ref(false)

  const isSuperuser = computed(() => hasRole('superuser'))
  const isOperator = computed(() => hasRole('operator'))
  /** Whether they can do nothing before they have set up two-factor authentication. */
  const mustSetUpTotp = computed(() => account.value?.totp === 'required')

  function hasRole(role: Role): boolean {
    return account.value ? RANK[account.value.role] >= RANK[role] : false
  }

  /** Whether they may change what is this tenant's. */
  function canEdit(tenant: string): boolean {
    const tenants = account.value?.tenants
    return isOperator.value && (!tenants || tenants.includes(tenant))
  }

  /** Asks who is signed in, unless that is known. */
  async function load(): Promise<void> {
    if (account.value !== undefined) return
    try {
      account.value = await service.getPrincipal()
    } catch (error) {
      const problem = problemOf(error)
      if (!problem.isExpired) throw problem
      account.value = null
      // Nobody had been signed in on this page, so nothing signInExpired.
      signInExpired.value = false
    }
  }

  /** Asks anew: a role may have changed, or somebody else have signed in on another page. */
  async function refresh(): Promise<void> {
    const now = await service.getPrincipal()
    if (now) account.value = now
    else expired()
  }

  async function signIn(name: string, password: string, code?: string): Promise<void> {
    await service.signIn(name, password, code)
    // The answer to a sign-in does not say when it ends.
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

  /** The sign-in is good no more. */
  function expired(): void {
    if (account.value) signInExpired.value = true
    account.value = null
  }

  return { account, signInExpired, isSuperuser, isOperator, mustSetUpTotp, hasRole, canEdit, load, refresh, signIn, signOut, expired }
})
