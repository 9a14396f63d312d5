import { send } from './http'
import type { OperatorDraft, OperatorPatch } from './types'

export const listOperators = () => send('get', '/api/v1/operators')

export const createOperator = (draft: OperatorDraft) => send('post', '/api/v1/operators', { body: draft })

export const changeOperator = (operator: string, patch: OperatorPatch) =>
  send('patch', '/api/v1/operators/{operator}', { path: { operator }, body: patch })

export const removeOperator = (operator: string, confirm?: string) =>
  send('delete', '/api/v1/operators/{operator}', { path: { operator }, confirm })

export const removeOperatorTotp = (operator: string) => send('delete', '/api/v1/operators/{operator}/totp', { path: { operator } })
