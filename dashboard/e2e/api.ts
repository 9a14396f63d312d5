import type { components } from '../src/api/schema.d.ts'

type Schemas = components['schemas']
type Queue = Partial<Schemas['QueueDraft']> & { id: string }

/** The API as a script uses it, for what a test needs to be there. */
export class Api {
  #cookie = ''

  constructor(
    readonly url: string,
    readonly who: { name: string; password: string },
  ) {}

  /** Whether the API answers and the operator is there. */
  async isThere(): Promise<boolean> {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${this.url}/api/v1/sign-in`, { method: 'POST', headers, body: JSON.stringify(this.who) }).catch(() => undefined)
    this.#cookie = answer?.headers.get('set-cookie')?.split(';')[0] ?? ''
    return answer?.ok ?? false
  }

  /** Asks, and confirms what is to be confirmed. */
  async call<T>(method: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<T> {
    const answer = await fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: { cookie: this.#cookie, 'x-vestibule-request': '1', 'content-type': 'application/json', ...headers },
      body: body ? JSON.stringify(body) : null,
    })
    const text = await answer.text()
    if (answer.status === 428 && !headers['x-vestibule-confirm']) {
      const { confirmation } = JSON.parse(text) as Schemas['ProblemDetails']
      return this.call(method, path, body, { ...headers, 'x-vestibule-confirm': confirmation?.token ?? '' })
    }
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return (text ? JSON.parse(text) : undefined) as T
  }

  tenant(id: string, name: string): Promise<unknown> {
    return this.call('POST', '/tenants', { id, name })
  }

  /** Creates a queue in front of `<id>.localhost`, open unless `wanted` says otherwise. */
  queue(wanted: Queue): Promise<Schemas['QueueSettings']> {
    const handover = { kind: 'check' as const }
    return this.call('POST', '/queues', { tenant: 'acme', name: wanted.id, hosts: [`${wanted.id}.localhost`], quota: 10, handover, recheck_after: 0, ...wanted })
  }

  operator({ name, password }: { name: string; password: string }, role: Schemas['Role']): Promise<unknown> {
    return this.call('POST', '/operators', { name, password, role, tenants: ['acme'] })
  }

  settings(queue: string): Promise<Schemas['QueueSettings']> {
    return this.call('GET', `/queues/${queue}`)
  }

  stats(queue: string): Promise<Schemas['QueueStats']> {
    return this.call('GET', `/queues/${queue}/stats`)
  }
}
