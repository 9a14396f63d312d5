import { request as ask } from 'node:http'

import type { Locator, Page } from '@playwright/test'

import type { Settings, Vestibule } from './server.ts'

/** The host that the tests' queue stands in front of. */
export const HOST = 'shop.localhost'
/** Its id. */
export const QUEUE = 'acme-tour'

type Value = string | number | boolean | Value[] | { [name: string]: Value }
type Table = Record<string, Value>

/** What else a test may want otherwise. */
interface Wanted {
  tenant?: Table
  /** Address of the site for the handover, from the shop's; the shop itself if left out. */
  origin?: (shop: string) => string
}

/** Settings of the tests' one queue: it lets one in and keeps places for a minute, unless `fields` say otherwise. */
export function queue(fields: Table = {}, { tenant = {}, origin = (shop) => shop }: Wanted = {}): Settings {
  return (shop) => tables(fields, tenant, origin(shop))
}

/** Settings of several brands, each with a queue on a host of its own name: `yellow.localhost`. */
export function brands(tenants: Record<string, Table>, fields: Table = {}): Settings {
  return (shop) =>
    Object.entries(tenants)
      .map(([id, tenant]) => tables({ id, tenant: id, hosts: [`${id}.localhost`], ...fields }, { id, ...tenant }, shop))
      .join('\n')
}

function tables(fields: Table, tenant: Table, origin: string): string {
  const { kind = 'proxy', ...rest } = fields
  const brand = { id: 'acme', name: 'Acme', ...tenant }
  const line = {
    id: QUEUE,
    tenant: 'acme',
    name: 'World tour',
    hosts: [HOST],
    quota: 1,
    recheck_after: 0,
    handover: { kind, origin },
    ...rest,
  }
  return `[[tenants]]\n${lines(brand)}[[queues]]\n${lines(line)}`
}

function lines(table: Table): string {
  return Object.entries(table)
    .map(([name, value]) => `${name} = ${toml(value)}\n`)
    .join('')
}

function toml(value: Value): string {
  if (typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(toml).join(', ')}]`
  return `{ ${Object.entries(value)
    .map(([name, inner]) => `${name} = ${toml(inner)}`)
    .join(', ')} }`
}

/** A visitor's standing, as far as the tests read it. */
export interface Standing {
  session: string | null
  state: string
  position: number | null
  waiting: number | null
  active: number | null
}

/** A visitor without a browser: a cookie jar. */
export class Visitor {
  readonly #cookies = new Map<string, string>()

  constructor(
    readonly gate: Vestibule,
    readonly host = HOST,
  ) {}

  /** Opens a page, and shows that its cookie was kept: who does is believed to be a browser. */
  async arrive(path = '/'): Promise<Standing> {
    await this.#send('GET', path)
    return this.standing()
  }

  /** Where they stand; a visit. */
  async standing(): Promise<Standing> {
    return JSON.parse(await this.#send('GET', `/_vestibule/status?queue=${QUEUE}`)) as Standing
  }

  /** Gives the place up for good. */
  async leave(): Promise<void> {
    await this.#send('POST', `/_vestibule/leave?queue=${QUEUE}`)
  }

  /** Closes the queue page; the place is held. */
  async away(): Promise<void> {
    await this.#send('POST', `/_vestibule/away?queue=${QUEUE}`)
  }

  #send(method: string, path: string): Promise<string> {
    const { hostname, port } = new URL(`http://${this.gate.address}`)
    const headers = {
      host: `${this.host}:${port}`,
      accept: 'text/html',
      cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; '),
    }
    return new Promise((done, failed) => {
      const request = ask({ hostname, port, method, path, headers }, (response) => {
        for (const cookie of response.headers['set-cookie'] ?? []) this.#keep(cookie)
        let body = ''
        response.setEncoding('utf8')
        response.on('data', (text) => (body += text))
        response.on('end', () => done(body))
      })
      request.on('error', failed)
      request.end()
    })
  }

  #keep(cookie: string): void {
    const [name = '', value = ''] = cookie.split(';')[0]?.split(/=(.*)/) ?? []
    if (value) this.#cookies.set(name, value)
    else this.#cookies.delete(name)
  }
}

/** Lets visitors arrive one after the other. */
export async function arrivals(gate: Vestibule, count: number): Promise<Visitor[]> {
  const visitors = Array.from({ length: count }, () => new Visitor(gate))
  for (const visitor of visitors) await visitor.arrive()
  return visitors
}

/** The one visitor who is in the shop, so that whoever comes now must wait. */
export async function occupant(gate: Vestibule): Promise<Visitor> {
  const visitor = new Visitor(gate)
  const { state } = await visitor.arrive()
  if (state !== 'admitted') throw new Error(`the shop was full already: ${state}`)
  return visitor
}

/** An element of the queue page by its `data-vestibule` name. */
export function part(page: Page, name: string): Locator {
  return page.locator(`[data-vestibule~="${name}"]`)
}

/** What the queue page is asked by and with. */
export const STATUS = '**/_vestibule/status?*'

/** Has the page read the gate's answers with these changes, from the next page on. */
export async function answerWith(page: Page, change: Record<string, unknown>): Promise<void> {
  await page.addInitScript((change) => {
    const fetch = window.fetch
    window.fetch = async (...given) => {
      const response = await fetch(...given)
      if (!String(given[0]).includes('/_vestibule/status')) return response
      return Response.json({ ...(await response.json()), ...change })
    }
  }, change)
}

/** The times, in milliseconds, at which the page asked from here on. */
export function questions(page: Page): number[] {
  const times: number[] = []
  page.on('request', (request) => {
    if (request.url().includes('/_vestibule/status')) times.push(Date.now())
  })
  return times
}

/** Has the page ask at once, as one does that comes back into view. */
export async function askNow(page: Page): Promise<void> {
  await page.evaluate(() => dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })))
}
