import type { components } from './schema'

export type ProblemBody = components['schemas']['ErrorBody']
export type FieldError = components['schemas']['ErrorDetail']
export type Conflict = components['schemas']['Conflict']
export type Confirmation = components['schemas']['Confirmation']

/** A request that was not successful. */
export class Problem extends Error {
  /** The code of the API, or `unreachable` or `unexpected`. */
  readonly code: string
  /** Parameters of the message. */
  readonly params?: FieldError['params']
  /** The invalid fields. */
  readonly errors: readonly FieldError[]
  /** The current state, where someone else changed it. */
  readonly conflict?: Conflict
  /** The consequences to confirm. */
  readonly confirmation?: Confirmation

  constructor(
    /** Status of the response; 0 if there was none. */
    readonly status: number,
    body?: ProblemBody,
    /** Seconds after which to try again. */
    readonly retryAfter?: number,
  ) {
    super(body?.error.message ?? '')
    this.name = 'Problem'
    this.code = body?.error.code ?? (status === 0 ? 'unreachable' : 'unexpected')
    this.params = body?.error.params
    this.errors = body?.errors ?? (body?.error.field ? [body.error] : [])
    this.conflict = body?.conflict
    this.confirmation = body?.confirmation
  }

  /** Whether the operator must sign in again. */
  get isExpired(): boolean {
    return this.code === CODES.notSignedIn || this.code === CODES.credentialInvalid
  }

  /** Whether the change may have been applied nevertheless. */
  get isUncertain(): boolean {
    return this.status <= 0 || this.code === CODES.outcomeUnknown || this.code === 'unexpected'
  }

  /** The error of a field, or of a part of it. */
  errorOf(field: string): FieldError | undefined {
    return this.errors.find((error) => error.field === field || error.field?.match(/^[^.[]+/)?.[0] === field)
  }
}

/** The codes of the API that the dashboard reacts to. */
export const CODES = {
  notSignedIn: 'not_signed_in',
  credentialInvalid: 'good_no_more',
  codeRequired: 'code_required',
  passwordRequired: 'password_required',
  totpSetupRequired: 'totp_setup_required',
  outcomeUnknown: 'outcome_unknown',
  storeUnavailable: 'store_unavailable',
  notFound: 'unknown',
  alreadyExists: 'taken',
  streamingUnavailable: 'no_streams',
  tooManyStreams: 'crowded',
  themeInvalid: 'broken_theme',
  themeStorageNotConfigured: 'no_themes',
} as const

/** The problem of a request without a response. */
export function unreachable(): Problem {
  return new Problem(0)
}

/** Anything that was thrown, as a problem. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error
  console.error(error)
  return new Problem(-1)
}
