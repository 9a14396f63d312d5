import { body, client } from './client'
import type { Principal } from './types'

/** The signed-in operator; `null` if nobody is signed in. */
export const getPrincipal = () => body(client.GET('/api/v1/sign-in')) as Promise<Principal | null>

/** Signs in. An operator with two-factor authentication needs a code too. */
export const signIn = (name: string, password: string, code?: string) =>
  body(client.POST('/api/v1/sign-in', { body: { name, password, ...(code !== undefined && { code }) } }))

export const signOut = () => body(client.DELETE('/api/v1/sign-in'))

/** Confirms the password, which allows managing operators for a few minutes. */
export const confirmPassword = (password: string) => body(client.POST('/api/v1/sign-in/proof', { body: { password } }))

/** Creates a secret for an authenticator app. */
export const startTotpSetup = () => body(client.POST('/api/v1/sign-in/totp'))

/** Turns on two-factor authentication with the first code. */
export const confirmTotpSetup = (password: string, code: string) => body(client.PUT('/api/v1/sign-in/totp', { body: { password, code } }))

/** Turns off two-factor authentication. */
export const removeOwnTotp = () => body(client.DELETE('/api/v1/sign-in/totp'))

export const listSignInMethods = () => body(client.GET('/api/v1/sign-in/methods'))

export const changePassword = (current: string, next: string) =>
  body(client.PUT('/api/v1/sign-in/password', { body: { current, new: next } }))
