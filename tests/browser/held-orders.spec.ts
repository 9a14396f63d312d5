import type { Page } from '@playwright/test'

import { expectAccessible } from './axe.ts'
import { HOST, QUEUE, queue } from './queue.ts'
import { expect, test } from './redis.ts'
import { type Settings, type Vestibule } from './server.ts'
import type { Shop } from './shop.ts'

/** A queue whose orders at `/checkout` are held. */
const held: Settings = (shop) =>
  `${queue({
    quota: 10,
    rules: [{ action: 'hold', job_queue: 'orders.fifo', method: ['POST'], path: ['/checkout'] }, { action: 'queue', path: ['/**'] }],
  })(shop)}[[job_queues]]
id = "orders.fifo"
tenant = "acme"
target = { kind = "origin" }
timeout = 10
`

/** The shop's form at `/checkout`, and a page that thanks for the order. */
function sell(shop: Shop, delay: number): void {
  shop.order = (answer) => setTimeout(answer, delay)
  shop.body = (path) =>
    path.startsWith('/checkout') && ordersOf(shop) === 0
      ? '<h1>Checkout</h1><form method="post" action="/checkout"><input type="hidden" name="seat" value="1"><button>Buy</button></form>'
      : `<h1>Thank you</h1><script src="/_vestibule/keepalive.js" data-queue="${QUEUE}"></script>`
}

const ordersOf = (shop: Shop) => shop.requests.filter((request) => request.startsWith('POST')).length

async function checkout(gate: Vestibule, shop: Shop, page: Page): Promise<void> {
  await page.goto(gate.at(HOST, '/checkout'))
  await expect(page.getByRole('heading', { name: 'Checkout' })).toBeVisible()
  expect(ordersOf(shop)).toBe(0)
}

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? 'with JavaScript' : 'without JavaScript', () => {
    test.use({ javaScriptEnabled })

    test('a double click is one order', async ({ serve, shop, page }) => {
      sell(shop, 500)
      const gate = await serve(held)
      await checkout(gate, shop, page)
      await page.getByRole('button', { name: 'Buy' }).dblclick()
      await expect(page.getByRole('heading', { name: 'Thank you' })).toBeVisible({ timeout: 15_000 })
      expect(ordersOf(shop)).toBe(1)
    })

    test('a slow order shows its progress, and then the response of the shop', async ({ serve, shop, page }) => {
      sell(shop, 6000)
      const gate = await serve(held)
      await checkout(gate, shop, page)
      await page.getByRole('button', { name: 'Buy' }).click()
      await expect(page.getByRole('heading', { name: 'We’re processing your order' })).toBeVisible({ timeout: 10_000 })
      const url = page.url()
      expect(url).toContain('/checkout?vestibule_job=')
      await page.reload()
      await expect(page.getByRole('heading', { name: 'We’re processing your order' })).toBeVisible()
      await page.goBack()
      await expect(page.getByRole('heading', { name: 'Thank you' }).or(page.getByRole('button', { name: 'Buy' }))).toBeVisible()
      await page.goto(url)
      await expect(page.getByRole('heading', { name: 'Thank you' })).toBeVisible({ timeout: 15_000 })
      expect(ordersOf(shop)).toBe(1)
    })

    test('an order that waits shows its position', async ({ serve, shop, page, browser }) => {
      sell(shop, 7000)
      const gate = await serve((shop) => held(shop).replace('timeout = 10', 'timeout = 10\nconcurrency = 1'))
      await checkout(gate, shop, page)
      const other = await browser.newPage({ javaScriptEnabled })
      await other.goto(gate.at(HOST, '/checkout'))
      await page.getByRole('button', { name: 'Buy' }).click({ noWaitAfter: true })
      await expect.poll(() => ordersOf(shop)).toBe(1)
      await other.getByRole('button', { name: 'Buy' }).click()
      await expect(other.getByRole('heading', { name: 'We’re processing your order' })).toBeVisible({ timeout: 10_000 })
      await expect(other.getByRole('definition')).toHaveText('1')
      await expect(other.getByRole('heading', { name: 'Thank you' })).toBeVisible({ timeout: 30_000 })
      await other.close()
    })
  })
}

test('position and progress are refreshed without a reload', async ({ serve, shop, page }) => {
  sell(shop, 9000)
  const gate = await serve(held)
  await checkout(gate, shop, page)
  const progress = (messages: unknown[]) => messages.map((message, index) => ({ id: index + 1, at: 1, message }))
  const waiting = (ahead: number) => ({ state: 'queued', receive_count: 0, ahead, progress: progress(['of an earlier run']) })
  const running = (...messages: unknown[]) => ({ state: 'running', receive_count: 1, ahead: 0, progress: progress(messages) })
  let status: object = waiting(1233)
  await page.route(/\/_vestibule\/jobs\/orders\.fifo\//, (route) => route.fulfill({ json: status }))
  await page.getByRole('button', { name: 'Buy' }).click()
  await expect(page.getByRole('heading', { name: 'We’re processing your order' })).toBeVisible({ timeout: 10_000 })
  await page.evaluate(() => Object.assign(window, { first: true }))
  await expect(page.getByRole('definition')).toHaveText('1,234')
  await expect(page.getByRole('status')).toHaveText('')
  status = running('reading', { status: '<b>Seat 12</b>' })
  await expect(page.getByRole('status')).toHaveText('<b>Seat 12</b>')
  await expect(page.getByRole('definition')).toBeHidden()
  status = waiting(0)
  await expect(page.getByRole('definition')).toHaveText('1')
  await expect(page.getByRole('status')).toHaveText('')
  // The page does not reload meanwhile, as it would when the order ends.
  await expectAccessible(page, 'the order is processed')
  status = running()
  await expect(page.getByRole('definition')).toBeHidden()
  expect(await page.evaluate(() => 'first' in window)).toBe(true)
})

test('the page of an order reloads once its state changes', async ({ serve, shop, page }) => {
  sell(shop, 9000)
  const gate = await serve(held)
  await checkout(gate, shop, page)
  await page.getByRole('button', { name: 'Buy' }).click()
  await expect(page.getByRole('heading', { name: 'We’re processing your order' })).toBeVisible({ timeout: 10_000 })
  await page.evaluate(() => Object.assign(window, { first: true }))
  const asked = () => page.waitForResponse(/\/_vestibule\/jobs\/orders\.fifo\//)
  await asked()
  await asked()
  expect(await page.evaluate(() => 'first' in window)).toBe(true)
  await expect(page.getByRole('heading', { name: 'Thank you' })).toBeVisible({ timeout: 15_000 })
  expect(ordersOf(shop)).toBe(1)
})

test('an order that begins to wait for a retry before the first request for its state reloads its page', async ({ serve, shop, page }) => {
  sell(shop, 9000)
  const gate = await serve(held)
  await checkout(gate, shop, page)
  const retrying = { state: 'retrying', receive_count: 1 }
  await page.route(/\/_vestibule\/jobs\/orders\.fifo\//, (route) => route.fulfill({ json: retrying }), { times: 1 })
  await page.getByRole('button', { name: 'Buy' }).click()
  await expect(page.getByRole('heading', { name: 'We’re processing your order' })).toBeVisible({ timeout: 10_000 })
  await page.evaluate(() => Object.assign(window, { first: true }))
  await page.waitForFunction(() => !('first' in window), null, { timeout: 6000 })
  await expect(page.getByRole('heading', { name: 'Thank you' })).toBeVisible({ timeout: 15_000 })
})

test('a closed tab and a new one find the same order', async ({ serve, shop, page, context }) => {
  sell(shop, 5000)
  const gate = await serve(held)
  await checkout(gate, shop, page)
  await page.getByRole('button', { name: 'Buy' }).click()
  await expect(page.getByRole('heading', { name: 'We’re processing your order' })).toBeVisible({ timeout: 10_000 })
  const url = page.url()
  await page.close()
  const tab = await context.newPage()
  await tab.goto(url)
  await expect(tab.getByRole('heading', { name: 'Thank you' })).toBeVisible({ timeout: 15_000 })
  expect(ordersOf(shop)).toBe(1)
})

test('a page gets its response after a restart of the gate', async ({ serve, redis, shop, page }) => {
  sell(shop, 6000)
  const gate = await serve(held, ['--store', redis.url])
  await checkout(gate, shop, page)
  await page.getByRole('button', { name: 'Buy' }).click()
  await expect(page.getByRole('heading', { name: 'We’re processing your order' })).toBeVisible({ timeout: 10_000 })
  // The gate waits for the order that it has sent, and answers nobody meanwhile.
  await gate.stop()
  expect(ordersOf(shop)).toBe(1)
  await gate.start()
  await expect(page.getByRole('heading', { name: 'Thank you' })).toBeVisible({ timeout: 20_000 })
  expect(ordersOf(shop)).toBe(1)
})

test('the pages of an order are accessible and in the visitor’s language', async ({ serve, shop, page, browser }) => {
  sell(shop, 0)
  shop.order = (_, drop) => setTimeout(drop, 5000)
  const gate = await serve(held)
  await checkout(gate, shop, page)
  await page.getByRole('button', { name: 'Buy' }).click()
  await expect(page.getByRole('heading', { name: 'We’re processing your order' })).toBeVisible({ timeout: 10_000 })
  await page.reload()
  const cookies = await page.context().cookies()
  await expect(page.getByRole('heading', { name: 'We don’t know whether your order was placed' })).toBeVisible({ timeout: 15_000 })
  await expect(page.getByText('Don’t submit it again. Contact Acme and quote this code:')).toBeVisible()
  await expectAccessible(page, 'the outcome is unknown')
  for (const [locale, heading] of [
    ['de', 'Wir wissen nicht, ob Ihre Bestellung eingegangen ist'],
    ['fr', 'Nous ne savons pas si votre commande a été passée'],
    ['es', 'No sabemos si su pedido se ha realizado'],
    ['ar', 'لا نعرف ما إذا كان طلبك قد قُدِّم'],
    ['ja', 'ご注文が完了したかどうか確認できません'],
    ['pl', 'Nie wiemy, czy Twoje zamówienie zostało złożone'],
  ] as const) {
    const context = await browser.newContext({ locale })
    await context.addCookies(cookies)
    const other = await context.newPage()
    await other.goto(page.url())
    await expect(other.getByRole('heading', { name: heading })).toBeVisible()
    await context.close()
  }
  expect(ordersOf(shop)).toBe(1)
})

test('vestibule.fetch resolves with the response of the shop', async ({ serve, shop, page }) => {
  sell(shop, 4000)
  shop.body = (path) => `<h1>At ${path}</h1><script src="/_vestibule/keepalive.js" data-queue="${QUEUE}"></script>`
  const gate = await serve(held)
  await page.goto(gate.at(HOST, '/'))
  await expect(page.getByRole('heading', { name: 'At /' })).toBeVisible()
  const response = await page.evaluate(async () => {
    const { vestibule } = window as unknown as { vestibule: { fetch: typeof fetch } }
    const order = { method: 'POST', body: 'seat=1', headers: { prefer: 'respond-async' } }
    const response = await vestibule.fetch('/checkout', order)
    return { status: response.status, text: await response.text() }
  })
  expect(response.status).toBe(200)
  expect(response.text).toContain('At /checkout')
  expect(ordersOf(shop)).toBe(1)
})
