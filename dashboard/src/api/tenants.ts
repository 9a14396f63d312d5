import { body, client, confirmation } from './client'
import type { TenantDraft, TenantPatch } from './types'

export const listTenants = () => body(client.GET('/api/v1/tenants'))

export const createTenant = (draft: TenantDraft) => body(client.POST('/api/v1/tenants', { body: draft }))

export const updateTenant = (tenant: string, patch: TenantPatch) =>
  body(client.PATCH('/api/v1/tenants/{tenant}', { params: { path: { tenant } }, body: patch }))

export const removeTenant = (tenant: string, token?: string) =>
  body(client.DELETE('/api/v1/tenants/{tenant}', { params: { path: { tenant }, header: confirmation(token) } }))
