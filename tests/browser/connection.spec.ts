import { createServer } from 'node:http'

import type { Page, Route } from '@playwright/test'

import { addVisitors, activeVisitor, part, pollTimes, queue, STATUS, Visitor } from './queue.ts'
import { expect, test } from './server.ts'

/** Answers status requests instead of the gate until the returned function is called. */
async function answerInstead(page: Page, answer: Parameters<Route['fulfill']>[0]): Promise<() => Promise<void>> {
  await page.route(STATUS, (route) => route.fulfill(answer))
  return () => page.unroute(STATUS)
}

const intervals = (times: number[]) => times.slice(1).map((time, index) => time - (times[index] ?? 0))

test('the page shows offline and resumes at its position', async ({ serve, page, context }) => {
  // Without jitter, the next attempt would come two seconds after the failed one.
  await page.addInitScript('Math.random = () => 1')
  const gate = await serve(queue())
  const active = await activeVisitor(gate)
  await page.goto(gate.at('shop.localhost', '/'))
  const [younger] = await addVisitors(gate, 1)

  await context.setOffline(true)
  await expect(page.getByText('You’re offline.').first()).toBeVisible()
  await expect(page.getByRole('status')).toHaveText(/^You’re offline\. We keep trying\. We keep your position until \d+:\d\d\.$/)
  await expect(part(page, 'auto-update')).toHaveText(/^Last updated \d+:\d\d$/)
  await expect(part(page, 'position')).toHaveText('1')

  await context.setOffline(false)
  await expect(part(page, 'offline')).toBeHidden({ timeout: 1500 })
  await expect(part(page, 'auto-update')).toHaveText('Updates automatically')
  expect(await younger?.status()).toMatchObject({ position: 2 })
  await active.leave()
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
})

test('the position is promised only as long as it is kept', async ({ serve, page, context }) => {
  await page.addInitScript('Math.random = () => 1')
  const gate = await serve(queue({ waiting_ttl: 3, claim_ttl: 3, hold_ttl: 6 }))
  await activeVisitor(gate)
  await page.goto(gate.at('shop.localhost', '/'))
  await expect(part(page, 'position')).toHaveText('1')
  await context.setOffline(true)
  await expect(part(page, 'offline-notice')).toHaveText(/ We keep your position until \d+:\d\d\.$/)
  await expect(part(page, 'offline-notice')).toHaveText('You’re offline. We keep trying.', { timeout: 20_000 })
})

test('a page whose script does not load reloads and keeps its position', async ({ serve, page, context }) => {
  test.slow()
  const gate = await serve(queue({ waiting_ttl: 60 }))
  await activeVisitor(gate)
  const script = '**/_vestibule/queue.js*'
  await page.route(script, (route) => route.abort())
  const reloaded = () => page.waitForEvent('domcontentloaded', { timeout: 20_000 })
  await page.goto(gate.at('shop.localhost', '/a?b=1'))
  const younger = new Visitor(gate)
  await younger.arrive()
  await reloaded()
  await expect(part(page, 'position')).toHaveText('1')
  expect(await younger.status()).toMatchObject({ position: 2, waiting: 2 })

  await context.setOffline(true)
  await page.waitForTimeout(12_000)
  await expect(part(page, 'position'), 'without a connection the page stays').toHaveText('1')
  await page.unroute(script)
  await context.setOffline(false)
  await reloaded()
  await page.waitForFunction('window.vestibuleRuns')
  const polls = pollTimes(page)
  await expect.poll(() => polls.length, { timeout: 20_000 }).toBeGreaterThan(1)
  expect(page.url()).toBe(gate.at('shop.localhost', '/a?b=1'))
})

test('an error page asks in the background, and not for its address, which may be a link that works once', async ({ serve, page }) => {
  const gate = await serve(queue({ quota: 5 }, { origin: () => 'http://127.0.0.1:9' }))
  const asked: [string, boolean][] = []
  page.on('request', (request) => {
    const { pathname } = new URL(request.url())
    if (pathname !== '/favicon.ico') asked.push([pathname, request.isNavigationRequest()])
  })
  await page.goto(gate.at('shop.localhost', '/activate/1'))
  await expect.poll(() => asked.length, { timeout: 20_000 }).toBe(2)
  expect(asked).toEqual([['/activate/1', true], ['/', false]])
})

test('a page whose host another queue has taken over reloads', async ({ serve, page }) => {
  const gate = await serve(queue())
  await activeVisitor(gate)
  await page.goto(gate.at('shop.localhost', '/'))
  await expect(part(page, 'position')).toHaveText('1')
  await gate.reload((shop) => {
    const next = queue({ id: 'next-tour' })(shop).split('[[queues]]')[1] ?? ''
    return `${queue({ hosts: ['moved.localhost'] })(shop)}[[queues]]${next}`
  })
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible({ timeout: 30_000 })
})

test('a page stays if a gate does not know its queue for a moment', async ({ serve, page }) => {
  const gate = await serve(queue())
  await activeVisitor(gate)
  await page.goto(gate.at('shop.localhost', '/'))
  let loads = 0
  page.on('domcontentloaded', () => loads++)
  const restore = await answerInstead(page, { status: 404, json: { code: 'unknown_queue' } })
  const asked = pollTimes(page)
  await expect.poll(() => asked.length, { timeout: 20_000 }).toBe(2)
  await restore()
  await expect(part(page, 'offline')).toBeHidden({ timeout: 20_000 })
  await expect.poll(() => asked.length, { timeout: 20_000 }).toBeGreaterThan(3)
  expect(loads).toBe(0)
})

test('the page polls whatever the browser lists as languages', async ({ serve, page }) => {
  await page.addInitScript(() => Object.defineProperty(navigator, 'languages', { get: () => ['en-US@posix', 'en-US,en', 'C'] }))
  const gate = await serve(queue())
  await activeVisitor(gate)
  const polls = pollTimes(page)
  await page.goto(gate.at('shop.localhost', '/'))
  await expect.poll(() => polls.length).toBeGreaterThan(0)
})

test('an expired visitor returns to the same position', async ({
  serve,
  page,
  context,
}) => {
  const gate = await serve(queue({ waiting_ttl: 3, claim_ttl: 3 }))
  const active = await activeVisitor(gate)
  await page.goto(gate.at('shop.localhost', '/'))
  await expect(part(page, 'position')).toHaveText('1')
  const younger = new Visitor(gate)
  await younger.arrive()
  await context.setOffline(true)
  await expect.poll(async () => (await younger.status()).position).toBe(1)
  await context.setOffline(false)
  await expect.poll(async () => (await younger.status()).waiting).toBe(2)
  await expect(part(page, 'position')).toHaveText('1')
  await active.leave()
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
  expect(await younger.status()).toMatchObject({ state: 'waiting' })
})

test('a gate restart keeps visitors and their order', async ({ serve, browser }) => {
  test.slow()
  const gate = await serve(queue({ waiting_ttl: 30, claim_ttl: 30 }))
  const active = await activeVisitor(gate)
  const pages: Page[] = []
  for (const position of ['1', '2']) {
    const page = await (await browser.newContext()).newPage()
    await page.goto(gate.at('shop.localhost', '/'))
    await expect(part(page, 'position')).toHaveText(position)
    pages.push(page)
  }
  const [first, second] = pages as [Page, Page]
  await gate.stop()
  for (const page of pages) await expect(part(page, 'offline')).toBeVisible()
  await expect(part(first, 'offline-notice'), 'the visitor is online').toHaveText(/^No connection to the line\. We keep trying\. /)
  await expect(part(first, 'position')).toHaveText('1')

  // The gate was down for less than half of waiting_ttl, so the line goes on where it stopped.
  await gate.start()
  expect(await active.status()).toMatchObject({ state: 'admitted' })
  const newcomer = new Visitor(gate)
  expect(await newcomer.arrive()).toMatchObject({ state: 'waiting' })
  for (const page of pages) await expect(part(page, 'offline')).toBeHidden({ timeout: 20_000 })
  await expect.poll(async () => (await newcomer.status()).position, { timeout: 20_000 }).toBe(3)
  await expect(part(first, 'position')).toHaveText('1')
  await expect(part(second, 'position')).toHaveText('2')

  await active.leave()
  await expect(first.getByRole('heading', { name: 'The shop' })).toBeVisible({ timeout: 20_000 })
  await expect(part(second, 'position')).toHaveText('1')
  expect(await newcomer.status()).toMatchObject({ position: 2 })
  for (const page of pages) await page.context().close()
})

test('a foreign 429 response is retried with backoff', async ({ serve, page }) => {
  const gate = await serve(queue())
  await activeVisitor(gate)
  await page.goto(gate.at('shop.localhost', '/'))
  const restore = await answerInstead(page, { status: 429, contentType: 'text/html', body: '<h1>Slow down</h1>' })
  const asked = pollTimes(page)
  await expect.poll(() => asked.length, { timeout: 20_000 }).toBeGreaterThan(2)
  const [first = 0, second = 0] = intervals(asked)
  expect(first).toBeGreaterThan(900)
  expect(second).toBeGreaterThan(1900)
  await expect(part(page, 'offline')).toBeVisible()
  await expect(part(page, 'position')).toHaveText('1')
  await restore()
  await expect(part(page, 'offline')).toBeHidden({ timeout: 20_000 })
})

test('Retry-After of any response is honored', async ({ serve, page }) => {
  const gate = await serve(queue())
  await activeVisitor(gate)
  await page.goto(gate.at('shop.localhost', '/'))
  const restore = await answerInstead(page, { status: 429, headers: { 'Retry-After': '5' }, body: 'Later' })
  const asked = pollTimes(page)
  await expect.poll(() => asked.length, { timeout: 20_000 }).toBe(2)
  expect(intervals(asked)[0]).toBeGreaterThan(4900)
  await restore()

  const body = { queue: 'acme-tour', state: 'unavailable', session: 'x', position: null, waiting: null, poll_after: 1 }
  await answerInstead(page, { status: 200, headers: { 'Retry-After': '4' }, json: body })
  await expect(page.getByRole('heading', { name: 'Reconnecting' })).toBeVisible({ timeout: 20_000 })
  const again = pollTimes(page)
  const answered = Date.now()
  await expect.poll(() => again.length, { timeout: 20_000 }).toBe(1)
  expect((again[0] ?? 0) - answered).toBeGreaterThan(3000)
})

for (const [name, answer] of Object.entries({
  'an error page of a load balancer': { status: 502, contentType: 'text/html', body: '<h1>Bad gateway</h1>' },
  'an empty 503': { status: 503, body: '' },
  'JSON of another server': { status: 500, json: { error: 'oops', state: 'broken' } },
  'JSON that is not an object': { status: 200, contentType: 'application/json', body: 'null' },
})) {
  test(`the page survives ${name}`, async ({ serve, page }) => {
    const gate = await serve(queue())
    const active = await activeVisitor(gate)
    const broken: Error[] = []
    page.on('pageerror', (error) => broken.push(error))
    await page.goto(gate.at('shop.localhost', '/'))
    const restore = await answerInstead(page, answer)
    await expect(part(page, 'offline')).toBeVisible()
    await expect(page.getByRole('heading', { name: 'You’re in line' })).toBeVisible()
    await expect(part(page, 'position')).toHaveText('1')
    await restore()
    await active.leave()
    await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
    expect(broken).toEqual([])
  })
}

test('an error page waits for the answer of a slow site', async ({ serve, shop, page }) => {
  test.slow()
  const gate = await serve(queue({ quota: 10 }))
  await shop.close()
  await page.goto(gate.at('shop.localhost', '/seats'))
  await expect(page.locator('h1')).toHaveText(/is not responding/)
  const requests: string[] = []
  // Longer than the page waits between its attempts.
  const site = createServer((request, response) => {
    requests.push(request.url ?? '')
    response.setHeader('Content-Type', 'text/html')
    setTimeout(() => response.end('<!doctype html><title>Seats</title><h1>Seats</h1>'), 12_000)
  })
  site.listen(Number(new URL(shop.url).port), '127.0.0.1')
  await expect(page.locator('h1')).toHaveText('Seats', { timeout: 60_000 })
  // The browser also asks for the icon of the site.
  expect(requests.filter((url) => url !== '/favicon.ico'), 'once in the background, once for the page').toEqual(['/', '/seats'])
  site.close()
})
