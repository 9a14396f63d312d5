import { send } from './http'
import type { Account } from './types'

/** Who is signed in; `null` for nobody. */
export const whoAmI = () => send('get', '/api/v1/sign-in') as Promise<Account | null>

/** Signs in. An operator with two-factor authentication needs a code as well. */
export const signIn = (name: string, password: string, code?: string) =>
  send('post', '/api/v1/sign-in', { body: { name, password, ...(code !== undefined && { code }) } })

/** Gives the password again; for a few minutes operators can be managed then. */
export const provePassword = (password: string) => send('post', '/api/v1/sign-in/proof', { body: { password } })

/** Makes a secret for an authenticator app. */
export const beginTotpSetup = () => send('post', '/api/v1/sign-in/totp')

/** Turns two-factor authentication on, with a first code of the app. */
export const confirmTotpSetup = (password: string, code: string) => send('put', '/api/v1/sign-in/totp', { body: { password, code } })

/** Turns two-factor authentication off. */
export const removeOwnTotp = () => send('delete', '/api/v1/sign-in/totp')

/** What a sign-in page is to offer. */
export const listSignInWays = () => send('get', '/api/v1/sign-in/ways')

export const signOut = () => send('delete', '/api/v1/sign-in')

export const changePassword = (current: string, next: string) =>
  send('put', '/api/v1/sign-in/password', { body: { current, new: next } })
