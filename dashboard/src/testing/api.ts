import { vi } from 'vitest'

/** A request to the mocked API. */
export interface ApiRequest {
  /** `GET /api/v1/queues?limit=500`. */
  line: string
  headers: Headers
  body: unknown
}

type Answer = Response | object | number
type Answers = Record<string, Answer | ((request: ApiRequest) => Answer)>

/**
 * Mocks the API by method and path, with or without query. A number is a status without a body; a request without an answer
 * fails like an unreachable server. Returns the requests in order.
 */
export function mockApi(answers: Answers): ApiRequest[] {
  const requests: ApiRequest[] = []
  vi.stubGlobal('fetch', async (input: Request) => {
    const { pathname, search } = new URL(input.url)
    const request: ApiRequest = { line: `${input.method} ${pathname}${search}`, headers: new Headers(input.headers), body: undefined }
    requests.push(request)
    const text = await input.text()
    if (text) request.body = input.headers.get('content-type') === 'text/plain' ? text : JSON.parse(text)
    const found = answers[request.line] ?? answers[`${input.method} ${pathname}`]
    if (found === undefined) throw new TypeError('unreachable')
    return response(typeof found === 'function' ? found(request) : found)
  })
  return requests
}

/** A response with problem details. */
export function problemResponse(status: number, code: string, more: object = {}): Response {
  return Response.json({ type: 'about:blank', title: '', status, code, detail: code, ...more }, { status })
}

function response(answer: Answer): Response {
  if (answer instanceof Response) return answer
  return typeof answer === 'number' ? new Response(null, { status: answer }) : Response.json(answer)
}
