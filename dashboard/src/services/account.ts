import { send } from './http'

export const whoAmI = () => send('get', '/api/v1/sign-in')

export const signIn = (name: string, password: string) => send('post', '/api/v1/sign-in', { body: { name, password } })

/** What a sign-in page is to offer. */
export const listSignInWays = () => send('get', '/api/v1/sign-in/ways')

export const signOut = () => send('delete', '/api/v1/sign-in')

export const changePassword = (current: string, next: string) =>
  send('put', '/api/v1/sign-in/password', { body: { current, new: next } })
