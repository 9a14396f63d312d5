import { request } from 'node:http'

import type { Backoffice } from './backoffice.ts'

/** A visitor without a browser, with a cookie jar. */
export class Visitor {
  readonly #cookies = new Map<string, string>()

  constructor(
    readonly backoffice: Backoffice,
    readonly queue: string,
  ) {}

  /** Opens the site and returns the ticket cookie, which confirms the session. */
  async arrive(): Promise<void> {
    await this.#send('GET', '/')
    // Where a rule lets the site pass, the first status is the first visit, and may get a pre-ticket only.
    if ((await this.status()).position === null) await this.status()
  }

  /** The visitor status. Counts as a visit. */
  async status(): Promise<{ state: string; session: string; support_code: string; position: number | null }> {
    return JSON.parse(await this.#send('GET', `/_vestibule/status?queue=${this.queue}`)) as never
  }

  /** Ends the session. */
  async leave(): Promise<void> {
    await this.#send('POST', `/_vestibule/leave?queue=${this.queue}`)
  }

  #send(method: string, path: string): Promise<string> {
    const { hostname, port } = new URL(`http://${this.backoffice.gate}`)
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { host: `${this.queue}.localhost:${port}`, accept: 'text/html', cookie }
    return new Promise((resolve, reject) => {
      const sent = request({ hostname, port, method, path, headers }, (response) => {
        for (const text of response.headers['set-cookie'] ?? []) {
          const [name = '', value = ''] = text.split(';')[0]?.split(/=(.*)/) ?? []
          this.#cookies.set(name, value)
        }
        let body = ''
        response.setEncoding('utf8')
        response.on('data', (text) => (body += text))
        response.on('end', () => resolve(body))
      })
      sent.on('error', reject)
      sent.end()
    })
  }
}

/** Adds visitors to a queue, ten at a time. */
export async function addVisitors(backoffice: Backoffice, queue: string, count: number): Promise<Visitor[]> {
  const visitors = Array.from({ length: count }, () => new Visitor(backoffice, queue))
  for (let next = 0; next < count; next += 10) await Promise.all(visitors.slice(next, next + 10).map((visitor) => visitor.arrive()))
  return visitors
}
