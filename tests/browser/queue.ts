import { request as ask } from 'node:http'

import { expect, type Locator, type Page } from '@playwright/test'

import type { Settings, Vestibule } from './server.ts'

/** Host of the test queue. */
export const HOST = 'shop.localhost'
/** ID of the test queue. */
export const QUEUE = 'acme-tour'

type Value = string | number | boolean | Value[] | { [name: string]: Value }
type Table = Record<string, Value>

/** Other options of a test. */
interface Options {
  tenant?: Table
  /** Origin of the handover, derived from the shop's URL; the shop itself by default. */
  origin?: (shop: string) => string
}

/** Settings with one queue: quota 1 and the default times unless `fields` change them. */
export function queue(fields: Table = {}, { tenant = {}, origin = (shop) => shop }: Options = {}): Settings {
  return (shop) => tables(fields, tenant, origin(shop))
}

/** Settings of several tenants, each with a queue on its own host: `yellow.localhost`. */
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
    // Only tests of pre-tickets use them.
    protection: { pre_ticket_from: 'none' },
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

/** The part of the visitor status that the tests read. */
export interface VisitorStatus {
  session: string | null
  state: string
  position: number | null
  waiting: number | null
  active: number | null
  event: { phase: string; starts_in: number; number: string | null } | null
}

/** The part of the line document that the tests read. */
export interface LineDocument {
  mode: string
  phase: string | null
  message: Record<string, string> | null
  event: {
    id: string
    starts_at: number
    drawn_at: number | null
    lobby_tickets: number
    draw: { commitment: string; salt: string; secret: string | null; seed: string | null }
  }
}

/** A visitor without a browser, with a cookie jar. */
export class Visitor {
  readonly #cookies = new Map<string, string>()

  constructor(
    readonly gate: Vestibule,
    readonly host = HOST,
    readonly queue = QUEUE,
  ) {}

  /** Opens a page and returns the ticket cookie, which confirms the session. */
  async arrive(path = '/'): Promise<VisitorStatus> {
    await this.#send('GET', path)
    return this.status()
  }

  /** The visitor status. Counts as a visit. */
  async status(): Promise<VisitorStatus> {
    return JSON.parse(await this.#send('GET', `/_vestibule/status?queue=${this.queue}`)) as VisitorStatus
  }

  /** The line document. */
  async line(): Promise<LineDocument> {
    return JSON.parse(await this.#send('GET', `/_vestibule/line?queue=${this.queue}`)) as LineDocument
  }

  /** Ends the session. */
  async leave(): Promise<void> {
    await this.#send('POST', `/_vestibule/leave?queue=${this.queue}`)
  }

  /** Closes the queue page. The ticket keeps the position. */
  async away(): Promise<void> {
    await this.#send('POST', `/_vestibule/away?queue=${this.queue}`)
  }

  #send(method: string, path: string): Promise<string> {
    const { hostname, port } = new URL(`http://${this.gate.address}`)
    const headers = {
      host: `${this.host}:${port}`,
      accept: 'text/html',
      cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; '),
    }
    return new Promise((resolve, reject) => {
      const request = ask({ hostname, port, method, path, headers }, (response) => {
        for (const cookie of response.headers['set-cookie'] ?? []) this.#store(cookie)
        let body = ''
        response.setEncoding('utf8')
        response.on('data', (text) => (body += text))
        response.on('end', () => resolve(body))
      })
      request.on('error', reject)
      request.end()
    })
  }

  #store(cookie: string): void {
    const [name = '', value = ''] = cookie.split(';')[0]?.split(/=(.*)/) ?? []
    if (value) this.#cookies.set(name, value)
    else this.#cookies.delete(name)
  }
}

/** An event that starts in this many seconds; its lobby opened a moment ago, or opens a minute before the start. */
export function eventIn(seconds: number): Record<string, string> {
  const at = (later: number) => new Date(Math.ceil(Date.now() / 1000 + later) * 1000).toISOString().replace('.000', '')
  const lobby = Math.min(seconds - 60, -1)
  return { id: 'sale', name: 'Spring sale', lobby_at: at(lobby), starts_at: at(seconds), ends_at: at(seconds + 3600) }
}

/** Adds visitors one after the other. */
export async function addVisitors(gate: Vestibule, count: number): Promise<Visitor[]> {
  const visitors = Array.from({ length: count }, () => new Visitor(gate))
  for (const visitor of visitors) await visitor.arrive()
  return visitors
}

/** Admits one visitor, who takes the only slot, so that others must wait. */
export async function activeVisitor(gate: Vestibule, host = HOST, queue = QUEUE): Promise<Visitor> {
  const visitor = new Visitor(gate, host, queue)
  const { state } = await visitor.arrive()
  if (state !== 'admitted') throw new Error(`the slot was already taken: ${state}`)
  return visitor
}

/** An element of the queue page by its `data-vestibule` name. */
export function part(page: Page, name: string): Locator {
  return page.locator(`[data-vestibule~="${name}"]`)
}

/** Presses Tab until the element has the focus. */
export async function tabTo(page: Page, element: Locator): Promise<void> {
  const isFocused = () => element.evaluate((node) => node === document.activeElement)
  for (let pressed = 0; pressed < 20 && !(await isFocused()); pressed += 1) await page.keyboard.press('Tab')
  await expect(element).toBeFocused()
}

/** URLs of status requests. */
export const STATUS = '**/_vestibule/status?*'

/** Changes the visitor status that the page receives, from the next navigation on. */
export async function overrideStatus(page: Page, change: Record<string, unknown>): Promise<void> {
  await page.addInitScript((change) => {
    const fetch = window.fetch
    window.fetch = async (...given) => {
      const response = await fetch(...given)
      if (!String(given[0]).includes('/_vestibule/status')) return response
      return Response.json({ ...(await response.json()), ...change })
    }
  }, change)
}

/** Times of status requests from now on, in milliseconds. */
export function pollTimes(page: Page): number[] {
  const times: number[] = []
  page.on('request', (request) => {
    if (request.url().includes('/_vestibule/status')) times.push(Date.now())
  })
  return times
}

/** Makes the page poll at once, like a page that is shown again. */
export async function pollNow(page: Page): Promise<void> {
  await page.evaluate(() => dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })))
}
