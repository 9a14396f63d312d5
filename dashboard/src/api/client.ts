import createClient, { createFinalURL, createQuerySerializer, defaultPathSerializer, type Middleware } from 'openapi-fetch'

import { UNREADABLE_NUMBER } from '@/domain/json'

import { Problem, unreachable, type ProblemBody } from './problem'
import type { paths } from './schema'

/** Time after which a request is aborted, in milliseconds. */
const TIMEOUT_MS = 20_000
/** The stream of stats has no timeout. */
const STREAM = '/api/v1/stats/stream'

/** Observes all requests. */
export interface Listener {
  /** The server responded, with or without a problem. */
  answered(problem?: Problem): void
  /** The server did not respond. */
  failed(): void
  /** The sign-in is missing or has expired. */
  expired(): void
}

let listener: Listener | undefined

/** Sets the observer of all requests. */
export function observeRequests(by: Listener): void {
  listener = by
}

const middleware: Middleware = {
  onRequest({ request }) {
    // Pages of other sites cannot send this header.
    if (request.method !== 'GET') request.headers.set('x-vestibule-request', '1')
  },
  async onResponse({ response }) {
    if (!response.ok) throw await problemFrom(response)
    listener?.answered()
  },
  onError({ error, request }) {
    if (request.signal.aborted) return error as Error
    listener?.failed()
    return unreachable()
  },
}

/** The typed client of the API. It throws a [`Problem`] for every response that is not a success. */
export const client = createClient<paths>({
  baseUrl: location.origin,
  credentials: 'same-origin',
  cache: 'no-store',
  headers: { accept: 'application/json' },
  bodySerializer: (body: unknown) => JSON.stringify(body, (_, value: unknown) => (Number.isNaN(value) ? UNREADABLE_NUMBER : value)),
  fetch: (request) => {
    if (new URL(request.url).pathname === STREAM) return fetch(request)
    return fetch(request, { signal: AbortSignal.any([request.signal, AbortSignal.timeout(TIMEOUT_MS)]) })
  },
})
client.use(middleware)

/** The body of a response. */
export async function body<T>(request: Promise<{ data?: T }>): Promise<T> {
  return (await request).data as T
}

/** Headers of a request that depends on a revision or a confirmation. */
export const ifMatch = (revision: number) => ({ 'If-Match': `"${revision}"` })
export const confirmation = (token: string | undefined) => (token === undefined ? {} : { 'X-Vestibule-Confirm': token })

type GetPath = { [P in keyof paths]: paths[P] extends { get: { parameters: object } } ? P : never }[keyof paths]
type UrlParams<P extends GetPath> = paths[P] extends { get: { parameters: infer T } } ? Omit<T, 'header' | 'cookie'> : never

/** The URL of a download. */
export function apiUrl<P extends GetPath>(path: P, params: UrlParams<P>): string {
  return createFinalURL(path, { baseUrl: '', params, querySerializer: createQuerySerializer(), pathSerializer: defaultPathSerializer })
}

async function problemFrom(response: Response): Promise<Problem> {
  const content = (await response.json().catch(() => undefined)) as ProblemBody | undefined
  if (!content?.code && response.status >= 500) {
    // The response of a proxy that cannot reach the server.
    listener?.failed()
    return unreachable()
  }
  const problem = new Problem(response.status, content, Number(response.headers.get('retry-after')) || undefined)
  listener?.answered(problem)
  if (problem.isExpired) listener?.expired()
  return problem
}
