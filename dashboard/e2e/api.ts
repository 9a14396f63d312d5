import type { components } from '../src/api/schema.d.ts'

type Schemas = components['schemas']
type Queue = Partial<Schemas['QueueDraft']> & { id: string }

/** A client of the API that prepares the data of a test. */
export class Api {
  #cookie = ''

  constructor(
    readonly url: string,
    readonly account: { name: string; password: string },
  ) {}

  /** Whether the API responses and the operator can sign in. */
  async isThere(): Promise<boolean> {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${this.url}/api/v1/sign-in`, { method: 'POST', headers, body: JSON.stringify(this.account) }).catch(() => undefined)
    this.#cookie = response?.headers.get('set-cookie')?.split(';')[0] ?? ''
    return response?.ok ?? false
  }

  /** Calls the API and confirms consequences where required. */
  async call<T>(method: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<T> {
    const response = await fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: { cookie: this.#cookie, 'x-vestibule-request': '1', 'content-type': 'application/json', ...headers },
      body: body ? JSON.stringify(body) : null,
    })
    const text = await response.text()
    if (response.status === 428 && !headers['x-vestibule-confirm']) {
      const { confirmation } = JSON.parse(text) as Schemas['ProblemDetails']
      return this.call(method, path, body, { ...headers, 'x-vestibule-confirm': confirmation?.token ?? '' })
    }
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return (text ? JSON.parse(text) : undefined) as T
  }

  tenant(id: string, name: string): Promise<unknown> {
    return this.call('POST', '/tenants', { id, name })
  }

  /** Creates a queue in front of `<id>.localhost`, open by default. */
  queue(wanted: Queue): Promise<Schemas['QueueSettings']> {
    const handover = { kind: 'check' as const }
    return this.call('POST', '/queues', { tenant: 'acme', name: wanted.id, hosts: [`${wanted.id}.localhost`], quota: 10, handover, recheck_after: 0, ...wanted })
  }

  /** Imports job queues of the tenant `acme`, whose handler is the site. */
  jobQueues(site: string, ...ids: string[]): Promise<unknown> {
    const target = { kind: 'http' as const, url: `${site}/jobs` }
    // A handler on this machine is called only if the tenant has its address as an origin.
    const tenants = [{ id: 'acme', name: 'Acme Live', origins: [site] }]
    return this.call('POST', '/settings', { tenants, job_queues: ids.map((id) => ({ id, tenant: 'acme', target })) })
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
