import { createServer, request as ask, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

import type { Page, Request } from '@playwright/test'

import { startNginx } from './nginx.ts'
import { activeVisitor, addVisitors, HOST, overrideStatus, part, pollTimes, queue, Visitor } from './queue.ts'
import { expect, test, type Vestibule } from './server.ts'

const streams = ['--streams-max', '100']
const isStream = (request: Request) => request.url().includes('/_vestibule/stream?')

/** Opens the queue page and waits until it has a stream. */
async function open(page: Page, address: string): Promise<void> {
  const opened = page.waitForResponse((response) => isStream(response.request()))
  await page.goto(address)
  expect((await opened).status()).toBe(200)
}

/** Requests for the status from now on. */
function polls(page: Page): string[] {
  const asked: string[] = []
  page.on('request', (request) => request.url().includes('/_vestibule/status') && asked.push(request.url()))
  return asked
}

test('the position moves without polls', async ({ serve, page }) => {
  const gate = await serve(queue(), streams)
  await activeVisitor(gate)
  const [first, second] = (await addVisitors(gate, 2)) as [Visitor, Visitor]
  const asked = polls(page)
  await open(page, gate.at(HOST, '/'))
  await expect(part(page, 'position')).toHaveText('3')
  await first.leave()
  await expect(part(page, 'position')).toHaveText('2', { timeout: 2000 })
  await second.leave()
  await expect(part(page, 'position')).toHaveText('1', { timeout: 2000 })
  expect(asked).toEqual([])
})

test('a stream is reopened before the session expires', async ({ serve, page }) => {
  // A stream lasts for two thirds of this time.
  const gate = await serve(queue({ waiting_ttl: 12 }), streams)
  await activeVisitor(gate)
  const opened: number[] = []
  page.on('request', (request) => isStream(request) && opened.push(Date.now()))
  const asked = polls(page)
  await open(page, gate.at(HOST, '/'))
  const [younger] = (await addVisitors(gate, 1)) as [Visitor]
  await expect.poll(() => opened.length, { timeout: 25_000 }).toBeGreaterThan(2)
  expect(await younger.status()).toMatchObject({ position: 2, waiting: 2 })
  expect(asked).toEqual([])
})

test('the turn comes through a stream', async ({ serve, page }) => {
  const gate = await serve(queue(), streams)
  const active = await activeVisitor(gate)
  await open(page, gate.at(HOST, '/a?b=1#c'))
  const asked = page.waitForRequest(/\/_vestibule\/status/, { timeout: 2000 })
  await active.leave()
  // The visit that claims the slot.
  await asked
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
  expect(page.url()).toBe(gate.at(HOST, '/a?b=1#c'))
})

test('the operator message appears within a second', async ({ serve, page }) => {
  const gate = await serve(queue(), streams)
  await activeVisitor(gate)
  await open(page, gate.at(HOST, '/'))
  await gate.reload(queue({ message: { default: 'Floor tickets are <b>sold out</b>.' } }))
  await expect(part(page, 'message')).toHaveText('Floor tickets are <b>sold out</b>.', { timeout: 2000 })
  await gate.reload(queue({ mode: 'closed' }))
  await expect(page.getByRole('heading', { name: 'Closed for now' })).toBeVisible()
})

test('one of two tabs has a stream, and both are current', async ({ serve, context }) => {
  const gate = await serve(queue(), streams)
  await activeVisitor(gate)
  const [older] = (await addVisitors(gate, 1)) as [Visitor]
  const [first, second] = [await context.newPage(), await context.newPage()]
  let opened = 0
  second.on('request', (request) => isStream(request) && (opened += 1))
  await open(first, gate.at(HOST, '/'))
  const asked = pollTimes(second)
  await second.goto(gate.at(HOST, '/'))
  await expect.poll(() => asked.length).toBeGreaterThan(0)
  for (const page of [first, second]) await expect(part(page, 'position')).toHaveText('2')
  await older.leave()
  for (const page of [first, second]) await expect(part(page, 'position')).toHaveText('1')
  expect(opened).toBe(0)
  const [younger] = (await addVisitors(gate, 1)) as [Visitor]
  // The other tab takes over. The first says that it is closed, maybe after the other opened its stream: that opens another.
  const taken = second.waitForResponse((response) => isStream(response.request()))
  await first.close()
  await taken
  await expect.poll(async () => (await younger.status()).waiting).toBe(2)
})

test('eight tabs of one visitor share a stream, and all are current', async ({ serve, context }) => {
  const gate = await serve(queue(), streams)
  await activeVisitor(gate)
  const older = await addVisitors(gate, 2)
  let opened = 0
  context.on('request', (request) => isStream(request) && (opened += 1))
  const tabs: Page[] = []
  // A browser has six connections to a server over HTTP/1.1: with a stream each, the last tabs would not load.
  for (let tab = 0; tab < 8; tab += 1) {
    const page = await context.newPage()
    await page.goto(gate.at(HOST, '/'))
    await expect(part(page, 'position')).toHaveText('3')
    tabs.push(page)
  }
  for (const position of ['2', '1']) {
    await older.pop()?.leave()
    for (const page of tabs) await expect(part(page, 'position')).toHaveText(position)
  }
  expect(opened).toBe(1)
  expect(await new Visitor(gate).arrive()).toMatchObject({ position: 2, waiting: 2 })
})

test('leaving the line closes the stream', async ({ serve, page }) => {
  const gate = await serve(queue(), streams)
  await activeVisitor(gate)
  await open(page, gate.at(HOST, '/'))
  const [younger] = (await addVisitors(gate, 1)) as [Visitor]
  page.on('dialog', (dialog) => dialog.accept())
  await page.getByRole('button', { name: 'Leave the line' }).click()
  await expect(page.getByRole('heading', { name: 'You left the line' })).toBeVisible()
  expect(await younger.status()).toMatchObject({ position: 1, waiting: 1 })
})

/** What a proxy does with streams. */
type Streams = 'buffers' | 'cuts' | 'fails'

/** A proxy in front of the gate that does not pass streams. */
async function badProxy(gate: Vestibule, streams: Streams): Promise<{ at(path: string): string; close(): void }> {
  const [hostname, port] = gate.address.split(':')
  const forStream: Record<Streams, (sent: ServerResponse) => void> = {
    // Until the gate ends the stream, long after.
    buffers: () => undefined,
    cuts: (sent) => setTimeout(() => sent.destroy(), 500),
    fails: (sent) => sent.writeHead(502).end(),
  }
  const server = createServer((received, sent) => {
    if (received.url?.includes('/_vestibule/stream')) {
      if (streams !== 'cuts') return forStream[streams](sent)
      forStream.cuts(sent)
    }
    const { method, url: path, headers } = received
    const forwarded = ask({ hostname, port, method, path, headers }, (response) => {
      sent.writeHead(response.statusCode ?? 502, response.headers)
      response.pipe(sent)
    })
    forwarded.on('error', () => sent.destroy())
    sent.on('close', () => forwarded.destroy())
    received.pipe(forwarded)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return {
    at: (path) => `http://${HOST}:${(server.address() as AddressInfo).port}${path}`,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

for (const fault of ['buffers', 'cuts', 'fails'] as const) {
  test(`the page polls if a proxy ${fault} streams`, async ({ serve, page }) => {
    const gate = await serve(queue(), streams)
    const active = await activeVisitor(gate)
    const [older] = (await addVisitors(gate, 1)) as [Visitor]
    const proxy = await badProxy(gate, fault)
    let opened = 0
    page.on('request', (request) => isStream(request) && (opened += 1))
    const asked = polls(page)
    await page.goto(proxy.at('/'))
    await expect.poll(() => asked.length, { timeout: 15_000 }).toBeGreaterThan(2)
    expect(opened).toBe(fault === 'cuts' ? 2 : 1)
    await older.leave()
    await expect(part(page, 'position')).toHaveText('1')
    await expect(part(page, 'offline')).toBeHidden()
    await active.leave()
    await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
    expect(opened).toBe(fault === 'cuts' ? 2 : 1)
    proxy.close()
  })
}

test('the page continues behind an nginx that closes connections after 5 seconds', async ({ serve, page }) => {
  const gate = await serve(queue(), streams)
  const active = await activeVisitor(gate)
  const [older] = (await addVisitors(gate, 1)) as [Visitor]
  const nginx = await startNginx(gate.address, 'proxy_read_timeout 5s; send_timeout 5s; keepalive_timeout 5s;')
  try {
    let loads = 0
    page.on('load', () => (loads += 1))
    const ended: number[] = []
    page.on('requestfailed', (request) => isStream(request) && ended.push(Date.now()))
    page.on('requestfinished', (request) => isStream(request) && ended.push(Date.now()))
    await page.goto(nginx.at(HOST, '/'))
    await expect(part(page, 'position')).toHaveText('2')
    await expect.poll(() => ended.length, { timeout: 30_000 }).toBeGreaterThan(1)
    await expect(part(page, 'offline')).toBeHidden()
    await older.leave()
    await expect(part(page, 'position')).toHaveText('1')
    expect(loads).toBe(1)
    await active.status()
    await active.leave()
    await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
  } finally {
    await nginx.stop()
  }
})

test('the page polls if there are no more streams', async ({ serve, page, browser }) => {
  const gate = await serve(queue(), ['--streams-max', '1'])
  const active = await activeVisitor(gate)
  await open(page, gate.at(HOST, '/'))
  const other = await (await browser.newContext()).newPage()
  const asked = polls(other)
  await other.goto(gate.at(HOST, '/'))
  await expect.poll(() => asked.length, { timeout: 15_000 }).toBeGreaterThan(1)
  await active.leave()
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
  await expect(part(other, 'position')).toHaveText('1')
  await other.context().close()
})

test('the page polls without locks', async ({ serve, page }) => {
  const gate = await serve(queue(), streams)
  await activeVisitor(gate)
  await page.addInitScript(() => Reflect.deleteProperty(Navigator.prototype, 'locks'))
  await overrideStatus(page, { poll_after: 1 })
  const asked = polls(page)
  await page.goto(gate.at(HOST, '/'))
  await expect.poll(() => asked.length, { timeout: 15_000 }).toBeGreaterThan(1)
})

test('the page shows that the gate is gone, and continues', async ({ serve, page }) => {
  const gate = await serve(queue(), streams)
  const active = await activeVisitor(gate)
  await open(page, gate.at(HOST, '/'))
  await gate.stop()
  await expect(part(page, 'offline')).toBeVisible({ timeout: 30_000 })
  await gate.start()
  await expect(part(page, 'offline')).toBeHidden({ timeout: 30_000 })
  await active.status()
  await active.leave()
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible({ timeout: 20_000 })
})
