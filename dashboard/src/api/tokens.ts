import { body, client } from './client'
import type { TokenDraft } from './types'

export const listTokens = () => body(client.GET('/api/v1/tokens'))

export const createToken = (draft: TokenDraft) => body(client.POST('/api/v1/tokens', { body: draft }))

export const revokeToken = (token: string) => body(client.DELETE('/api/v1/tokens/{token}', { params: { path: { token } } }))
