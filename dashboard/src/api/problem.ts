import type { components } from './schema'

export type ProblemBody = components['schemas']['ProblemDetails']
export type FieldError = components['schemas']['FieldProblem']
export type Conflict = components['schemas']['RevisionConflict']
export type Confirmation = components['schemas']['Confirmation']

/** A failed request. */
export class Problem extends Error {
  /** The code of the API, or `unreachable` or `unexpected`. */
  readonly code: string
  /** Parameters of the message. */
  readonly params?: FieldError['params']
  /** The invalid fields. */
  readonly errors: readonly FieldError[]
  /** The current state after a revision conflict. */
  readonly conflict?: Conflict
  /** The consequences to confirm. */
  readonly confirmation?: Confirmation

  constructor(
    /** Status of the response; 0 without a response. */
    readonly status: number,
    body?: ProblemBody,
    /** Seconds after which to try again. */
    readonly retryAfter?: number,
  ) {
    super(body?.detail ?? '')
    this.name = 'Problem'
    // A load balancer answers 413 without a code.
    this.code = body?.code ?? (status === 0 ? 'unreachable' : status === 413 ? CODES.tooLarge : 'unexpected')
    this.params = body?.params
    this.errors = body?.errors ?? []
    this.conflict = body?.conflict
    this.confirmation = body?.confirmation
  }

  /** Whether the operator must sign in again. */
  get isExpired(): boolean {
    return this.code === CODES.notSignedIn || this.code === CODES.credentialInvalid
  }

  /** Whether the change may or may not have been applied. */
  get isUncertain(): boolean {
    return this.status <= 0 || this.code === CODES.outcomeUnknown || this.code === 'unexpected'
  }

  /** Whether the request can be sent again with its idempotency key: the server keeps an unknown outcome under it. */
  get keepsKey(): boolean {
    return this.isUncertain && this.code !== CODES.outcomeUnknown
  }

  /** The error of a field or of a part of it. */
  errorOf(field: string): FieldError | undefined {
    return this.errors.find((error) => isPartOf(error.field ?? '', field))
  }
}

/** Whether the path of an error names a field or a part of it. */
export const isPartOf = (path: string, field: string) => path.startsWith(field) && /^($|[.[])/.test(path.slice(field.length))

/** The codes of the API that the dashboard reacts to. */
export const CODES = {
  notSignedIn: 'not_signed_in',
  credentialInvalid: 'credential_invalid',
  codeRequired: 'code_required',
  passwordRequired: 'password_required',
  totpSetupRequired: 'totp_setup_required',
  outcomeUnknown: 'outcome_unknown',
  storeUnavailable: 'store_unavailable',
  notFound: 'not_found',
  unknownJob: 'unknown_job',
  alreadyExists: 'already_exists',
  tooLarge: 'too_large',
  streamingUnavailable: 'streaming_unavailable',
  tooManyStreams: 'too_many_streams',
  revisionConflict: 'revision_conflict',
  themeInvalid: 'theme_invalid',
  themeStorageNotConfigured: 'theme_storage_not_configured',
} as const

/** The problem of a request without a response. */
export function unreachable(): Problem {
  return new Problem(0)
}

/** A caught value as a problem. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error
  console.error(error)
  return new Problem(-1)
}
