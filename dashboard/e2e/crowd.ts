import { request } from 'node:http'

import type { Office } from './office.ts'

/** A visitor without a browser: a cookie jar. */
export class Visitor {
  readonly #cookies = new Map<string, string>()

  constructor(
    readonly office: Office,
    readonly queue: string,
  ) {}

  /** Opens the site, and shows that the cookie was kept: who does is believed to be a browser. */
  async arrive(): Promise<void> {
    await this.#send('GET', '/')
    await this.standing()
  }

  /** Where they stand; a visit. */
  async standing(): Promise<{ state: string; session: string; position: number | null }> {
    return JSON.parse(await this.#send('GET', `/_vestibule/status?queue=${this.queue}`)) as never
  }

  /** Gives the place up. */
  async leave(): Promise<void> {
    await this.#send('POST', `/_vestibule/leave?queue=${this.queue}`)
  }

  #send(method: string, path: string): Promise<string> {
    const { hostname, port } = new URL(`http://${this.office.gate}`)
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { host: `${this.queue}.localhost:${port}`, accept: 'text/html', cookie }
    return new Promise((done, failed) => {
      const asked = request({ hostname, port, method, path, headers }, (response) => {
        for (const text of response.headers['set-cookie'] ?? []) {
          const [name = '', value = ''] = text.split(';')[0]?.split(/=(.*)/) ?? []
          this.#cookies.set(name, value)
        }
        let body = ''
        response.setEncoding('utf8')
        response.on('data', (text) => (body += text))
        response.on('end', () => done(body))
      })
      asked.on('error', failed)
      asked.end()
    })
  }
}

/** Lets visitors come to a queue, a few at a time, each for itself. */
export async function crowd(office: Office, queue: string, count: number): Promise<Visitor[]> {
  const visitors = Array.from({ length: count }, () => new Visitor(office, queue))
  for (let next = 0; next < count; next += 10) await Promise.all(visitors.slice(next, next + 10).map((visitor) => visitor.arrive()))
  return visitors
}
