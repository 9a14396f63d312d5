
import type { components } from './schema'

export type ErrorBody = components['schemas']['ErrorBody']
export type ErrorDetail = components['schemas']['ErrorDetail']
export type Conflict = components['schemas']['Conflict']
export type Confirmation = components['schemas']['Confirmation']

/** Why something was not done. */
export class Problem extends Error {
  /** A word for programs: that of the API, or `unreachable` or `unexpected`. */
  readonly code: string
  /** What stands in the gaps of its sentence. */
  readonly params?: ErrorDetail['params']
  /** Every field that is wrong. */
  readonly errors: readonly ErrorDetail[]
  /** What somebody else changed meanwhile. */
  readonly conflict?: Conflict
  /** What is to be confirmed. */
  readonly confirmation?: Confirmation

  constructor(
    /** Status of the answer; 0 if there was none. */
    readonly status: number,
    body?: ErrorBody,
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

  /** Whether the operator is to sign in again. */
  get isExpired(): boolean {
    return this.code === 'not_signed_in' || this.code === 'good_no_more'
  }

  /** Whether what was asked for may have been done all the same. */
  get isUncertain(): boolean {
    return this.status <= 0 || this.code === 'outcome_unknown' || this.code === 'unexpected'
  }

  /** The error of a field, or of a part of it. */
  errorOf(field: string): ErrorDetail | undefined {
    return this.errors.find((error) => error.field === field || error.field?.match(/^[^.[]+/)?.[0] === field)
  }
}

/** The problem of a request that got no answer. */
export function unreachable(): Problem {
  return new Problem(0)
}

/** Whatever was thrown, as a problem. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error
  console.error(error)
  return new Problem(-1)
}
