import { send } from './http'
import type { TenantDraft, TenantPatch } from './types'

export const listTenants = () => send('get', '/api/v1/tenants')

export const createTenant = (draft: TenantDraft) => send('post', '/api/v1/tenants', { body: draft })

export const changeTenant = (tenant: string, patch: TenantPatch) =>
  send('patch', '/api/v1/tenants/{tenant}', { path: { tenant }, body: patch })

export const removeTenant = (tenant: string, confirm?: string) =>
  send('delete', '/api/v1/tenants/{tenant}', { path: { tenant }, confirm })
