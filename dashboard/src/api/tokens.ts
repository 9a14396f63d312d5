import { send } from './http'
import type { TokenDraft } from './types'

export const listTokens = () => send('get', '/api/v1/tokens')

export const createToken = (draft: TokenDraft) => send('post', '/api/v1/tokens', { body: draft })

export const revokeToken = (token: string) => send('delete', '/api/v1/tokens/{token}', { path: { token } })
