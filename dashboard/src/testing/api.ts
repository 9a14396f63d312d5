import { vi } from 'vitest'

/** A request that reached the pretended server. */
export interface ApiRequest {
  /** `GET /api/v1/queues?limit=500`. */
  line: string
  headers: Headers
  body: unknown
}

type Answer = Response | object | number
type Answers = Record<string, Answer | ((asked: ApiRequest) => Answer)>

/**
 * Pretends to be the API: answers by method and path, with or without its query. A number is a status without a body; what
 * nobody answers is a server that can't be reached. Returns what was asked, in order.
 */
export function mockApi(answers: Answers): ApiRequest[] {
  const asked: ApiRequest[] = []
  vi.stubGlobal('fetch', (address: string, init: RequestInit) => {
    const line = `${init.method} ${address}`
    const request = { line, headers: new Headers(init.headers), body: init.body ? JSON.parse(init.body as string) : undefined }
    asked.push(request)
    const found = answers[line] ?? answers[line.split('?')[0] ?? '']
    if (found === undefined) return Promise.reject(new TypeError('nobody answers'))
    return Promise.resolve(response(typeof found === 'function' ? found(request) : found))
  })
  return asked
}

/** An answer that is none of the wanted. */
export function problemResponse(status: number, code: string, more: object = {}): Response {
  return Response.json({ error: { code, message: code, field: null }, ...more }, { status })
}

function response(answer: Answer): Response {
  if (answer instanceof Response) return answer
  return typeof answer === 'number' ? new Response(null, { status: answer }) : Response.json(answer)
}
