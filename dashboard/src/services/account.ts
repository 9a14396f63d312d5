import { send } from './http'
import type { Account } from './types'

/** Who is signed in; `null` for nobody. */
export const whoAmI = () => send('get', '/api/v1/sign-in') as Promise<Account | null>

export const signIn = (name: string, password: string) => send('post', '/api/v1/sign-in', { body: { name, password } })

/** Gives the password again; for a few minutes operators can be managed then. */
export const provePassword = (password: string) => send('post', '/api/v1/sign-in/proof', { body: { password } })

/** What a sign-in page is to offer. */
export const listSignInWays = () => send('get', '/api/v1/sign-in/ways')

export const signOut = () => send('delete', '/api/v1/sign-in')

export const changePassword = (current: string, next: string) =>
  send('put', '/api/v1/sign-in/password', { body: { current, new: next } })
