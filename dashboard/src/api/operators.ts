import { body, client, confirmation } from './client'
import type { OperatorDraft, OperatorPatch } from './types'

export const listOperators = () => body(client.GET('/api/v1/operators'))

export const createOperator = (draft: OperatorDraft) => body(client.POST('/api/v1/operators', { body: draft }))

export const updateOperator = (operator: string, patch: OperatorPatch) =>
  body(client.PATCH('/api/v1/operators/{operator}', { params: { path: { operator } }, body: patch }))

export const removeOperator = (operator: string, token?: string) =>
  body(client.DELETE('/api/v1/operators/{operator}', { params: { path: { operator }, header: confirmation(token) } }))

export const removeOperatorTotp = (operator: string) => body(client.DELETE('/api/v1/operators/{operator}/totp', { params: { path: { operator } } }))
