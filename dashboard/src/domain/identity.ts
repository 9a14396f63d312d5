// How a queue knows the accounts of a site, as its form edits it.
import type { Identity } from '@/api/types'

/** Who signs the tokens of accounts, or `none` if the queue knows no accounts. */
export const IDENTITY_KINDS = ['none', 'jwt', 'alb'] as const
export type IdentityKind = (typeof IDENTITY_KINDS)[number]

export const kindOf = (identity: Identity | undefined): IdentityKind => (identity ? (identity.kind ?? 'jwt') : 'none')

/** The identity of another kind. A load balancer publishes its keys itself. */
export function withKind(identity: Identity | undefined, kind: IdentityKind): Identity | undefined {
  if (kind === 'none') return undefined
  const { keys, ...rest } = identity ?? { issuer: '', audience: [] }
  // Where tokens are looked for follows from the kind.
  return { ...rest, ...(kind === 'jwt' && keys && { keys }), from: [], kind }
}

/** The identity with these changes, without empty members. */
export function withChanges(identity: Identity, changes: Partial<Identity>): Identity {
  const entries = Object.entries({ ...identity, ...changes }).filter(([name, value]) => name === 'issuer' || (value !== '' && value !== undefined))
  return Object.fromEntries(entries) as Identity
}

/** A key set as text. */
export const keysText = (keys: Identity['keys']): string => (keys === undefined ? '' : typeof keys === 'string' ? keys : JSON.stringify(keys, undefined, 2))

/** The key set of a text. Text that is no JSON is kept as it is, for the server to refuse. */
export function keysOf(text: string): Identity['keys'] {
  if (text.trim() === '') return undefined
  try {
    return JSON.parse(text) as Identity['keys']
  } catch {
    return text as unknown as Identity['keys']
  }
}
