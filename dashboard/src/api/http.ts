import { Problem, unreachable, type ErrorBody } from './problem'
import type { paths } from './schema'

/** Time after which a request is given up, in milliseconds. */
const TIMEOUT_MS = 20_000

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'
interface Operation {
  parameters: { path?: unknown; query?: unknown }
  responses: object
}

/** The addresses that take a method. */
type PathOf<M extends Method> = { [P in keyof paths]: paths[P] extends Record<M, Operation> ? P : never }[keyof paths]
type OperationOf<P extends keyof paths, M extends Method> = paths[P][M]
type BodyOf<O> = O extends { requestBody: { content: infer C } } ? C[keyof C] : undefined
type Content<R> = R extends { content: { 'application/json': infer J } } ? J : undefined
type AnswerOf<O> = O extends { responses: infer R } ? Content<R[keyof R & (200 | 201 | 204)]> : never
type PathParameters<O> = O extends { parameters: { path: infer T } } ? T : undefined
type QueryParameters<O> = O extends { parameters: { query?: infer T } } ? T : undefined

/** What goes with a request. */
export interface Request<O = unknown> {
  path?: PathParameters<O>
  query?: QueryParameters<O>
  body?: BodyOf<O>
  /** The revision that a change is meant for. */
  revision?: number
  /** The token of a confirmation. */
  confirm?: string
  /** Names the request, so that it is carried out once however often it is sent. */
  idempotencyKey?: string
  signal?: AbortSignal
}

/** What is received to whoever watches how requests fare. */
export interface Watcher {
  /** A request was answered: as wanted, or with a problem. */
  answered(problem?: Problem): void
  /** A request got no answer. */
  failed(): void
  /** The sign-in is good no more. */
  expired(): void
}

let watcher: Watcher | undefined

/** Has the fate of every request received. */
export function watch(by: Watcher): void {
  watcher = by
}

/** Asks the API, and returns what it answers. Throws a [`Problem`] for every answer that is none of the wanted. */
export async function send<M extends Method, P extends PathOf<M>>(
  method: M,
  path: P,
  request: Request<OperationOf<P, M>> = {},
): Promise<AnswerOf<OperationOf<P, M>>> {
  const response = await ask(method, path, request)
  return (response.status === 204 ? undefined : await response.json()) as AnswerOf<OperationOf<P, M>>
}

/** Asks for an answer that flows. It is not given up after a time: whoever reads it ends it. */
export async function stream(path: PathOf<'get'>, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
  const response = await ask('get', path, { signal }, false)
  if (!response.body) throw unreachable()
  return response.body
}

/** Asks for a file. */
export async function bytes<P extends PathOf<'get'>>(path: P, request: Request<OperationOf<P, 'get'>>): Promise<ArrayBuffer> {
  return (await ask('get', path, request)).arrayBuffer()
}

/** The address of something to download, which the browser asks for by itself. */
export function address<P extends PathOf<'get'>>(path: P, request: Request<OperationOf<P, 'get'>>): string {
  return located(path, request)
}

async function ask(method: Method, path: string, request: Request, bounded = true): Promise<Response> {
  let response: Response
  try {
    response = await fetch(located(path, request), {
      method: method.toUpperCase(),
      headers: headers(method, request),
      body: request.body === undefined ? null : JSON.stringify(request.body, spelled),
      credentials: 'same-origin',
      cache: 'no-store',
      signal: timeout(request.signal, bounded),
    })
  } catch (error) {
    if (request.signal?.aborted) throw error
    watcher?.failed()
    throw unreachable()
  }
  if (response.ok) {
    watcher?.answered()
    return response
  }
  throw await refused(response)
}

async function refused(response: Response): Promise<Problem> {
  const body = (await response.json().catch(() => undefined)) as ErrorBody | undefined
  if (!body?.error && response.status >= 500) {
    // A proxy in between that finds nobody behind it.
    watcher?.failed()
    return unreachable()
  }
  const problem = new Problem(response.status, body, Number(response.headers.get('retry-after')) || undefined)
  watcher?.answered(problem)
  if (problem.isExpired) watcher?.expired()
  return problem
}

/** What was typed where a number belongs would become `null`, which means something; so the API is shown that it is none. */
function spelled(_: string, value: unknown): unknown {
  return Number.isNaN(value) ? 'not a number' : value
}

function headers(method: Method, { body, revision, confirm, idempotencyKey }: Request): Record<string, string> {
  return {
    accept: 'application/json',
    // A page of another site can't send this one.
    ...(method !== 'get' && { 'x-vestibule-request': '1' }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(revision !== undefined && { 'if-match': `"${revision}"` }),
    ...(confirm !== undefined && { 'x-vestibule-confirm': confirm }),
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
  }
}

function timeout(signal: AbortSignal | undefined, bounded: boolean): AbortSignal | null {
  const signals = [signal, bounded ? AbortSignal.timeout(TIMEOUT_MS) : undefined].filter((it) => it !== undefined)
  return signals.length > 0 ? AbortSignal.any(signals) : null
}

function located(path: string, { path: parts, query }: Request): string {
  const values = (parts ?? {}) as Record<string, string>
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''))
  const given = Object.entries((query ?? {}) as Record<string, unknown>)
  const wanted = given.filter(([, value]) => value !== undefined && value !== null && value !== '' && value !== false)
  const search = new URLSearchParams(wanted.map(([name, value]) => [name, String(value)])).toString()
  return search ? `${filled}?${search}` : filled
}
