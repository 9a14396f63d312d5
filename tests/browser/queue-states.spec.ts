import { addVisitors, activeVisitor, part, queue, Visitor } from './queue.ts'
import { expect, test } from './redis.ts'

const quick = { waiting_ttl: 6 }

test('a paused line keeps positions and resumes', async ({ serve, page }) => {
  const gate = await serve(queue(quick))
  const active = await activeVisitor(gate)
  await page.goto(gate.at('shop.localhost', '/a'))
  await expect(part(page, 'position')).toHaveText('1')

  await gate.reload(queue({ ...quick, mode: 'paused' }))
  await expect(page.getByRole('heading', { name: 'The line is paused' })).toBeVisible()
  await expect(page.getByRole('status')).toHaveText(/^The line is paused\. Admissions are paused\. You keep your position\./)
  await expect(part(page, 'wait-row')).toBeHidden()
  await active.leave()
  const newcomer = new Visitor(gate)
  expect(await newcomer.arrive()).toMatchObject({ state: 'paused', position: 2 })
  await expect(part(page, 'position')).toHaveText('1')

  await gate.reload(queue(quick))
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
  expect(await newcomer.status()).toMatchObject({ state: 'waiting', position: 1 })
})

test('the closed page opens by itself', async ({ serve, page }) => {
  const gate = await serve(queue({ ...quick, mode: 'closed' }))
  await page.goto(gate.at('shop.localhost', '/a?b=1'))
  await expect(page.getByRole('heading', { name: 'Closed for now' })).toBeVisible()
  await expect(page.getByText('Acme is closed to new visitors.')).toBeVisible()
  await expect(part(page, 'position')).toHaveCount(0)
  await gate.reload(queue(quick))
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
  expect(page.url()).toBe(gate.at('shop.localhost', '/a?b=1'))
})

test('the page of a full line joins when there is room', async ({ serve, page }) => {
  const gate = await serve(queue({ quota: 0, max_waiting: 1 }))
  const [first] = await addVisitors(gate, 1)
  await page.goto(gate.at('shop.localhost', '/a'))
  await expect(page.getByRole('heading', { name: 'The line is full' })).toBeVisible()
  await expect(page.getByText('You do not have a place in line yet. This page checks again automatically.')).toBeVisible()
  await expect(part(page, 'position')).toBeHidden()
  await gate.reload(queue({ quota: 0, max_waiting: 2 }))
  // The page asks again after a minute, or when the connection is back.
  await expect(async () => {
    await page.evaluate(() => window.dispatchEvent(new Event('online')))
    await expect(page.getByRole('heading', { name: 'You’re in line' })).toBeVisible({ timeout: 1000 })
  }).toPass()
  await expect(part(page, 'position')).toHaveText('2')
  expect(await first?.status()).toMatchObject({ state: 'waiting', position: 1 })
})

test('a closed and reopened queue keeps the position', async ({
  serve,
  page,
}) => {
  const gate = await serve(queue(quick))
  const active = await activeVisitor(gate)
  await page.goto(gate.at('shop.localhost', '/a'))
  await expect(part(page, 'position')).toHaveText('1')
  const [younger] = await addVisitors(gate, 1)
  await gate.reload(queue({ ...quick, mode: 'closed' }))
  await expect(page.getByRole('heading', { name: 'Closed for now' })).toBeVisible()
  const kept = /^We keep your position until \d+:\d\d\.$/
  await expect(part(page, 'position-kept')).toHaveText(kept)
  // Each poll renews the ticket.
  await part(page, 'position-kept').evaluate((element) => (element.textContent = ''))
  await expect(part(page, 'position-kept')).toHaveText(kept)
  await gate.reload(queue(quick))
  await expect(part(page, 'position')).toHaveText('1')
  await expect.poll(async () => (await younger?.status())?.waiting).toBe(2)
  await active.leave()
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
  expect(await younger?.status()).toMatchObject({ state: 'waiting' })
})

test('the page keeps the position while the store is down', async ({
  redis,
  serve,
  page,
}) => {
  const gate = await serve(queue(quick), ['--store', redis.url])
  const active = await activeVisitor(gate)
  const [older] = await addVisitors(gate, 1)
  await page.goto(gate.at('shop.localhost', '/a'))
  await expect(part(page, 'position')).toHaveText('2')

  await redis.stop()
  await expect(page.getByRole('heading', { name: 'Reconnecting' })).toBeVisible()
  await expect(page.getByText('You see your last known position. This page keeps trying.').first()).toBeVisible()
  await expect(part(page, 'position')).toHaveText('2')
  // The store is down, not the connection. Reloading keeps the last known position.
  await expect(part(page, 'offline')).toBeHidden()
  await page.reload()
  await expect(page.getByRole('heading', { name: 'Reconnecting' })).toBeVisible()
  await expect(part(page, 'position')).toHaveText('2')

  // Redis restarts empty. Tickets restore the line in its order.
  await redis.start()
  await expect(page.getByRole('heading', { name: 'You’re in line' })).toBeVisible({ timeout: 20_000 })
  expect(await active.status()).toMatchObject({ state: 'admitted' })
  await expect.poll(async () => (await older?.status())?.position).toBe(1)
  await expect(part(page, 'position')).toHaveText('2')
  await older?.leave()
  await active.leave()
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible({ timeout: 20_000 })
})

test('a new visitor waits while the store is down', async ({
  redis,
  serve,
  page,
}) => {
  // The store comes back empty: no position is shown to newcomers for a quarter of hold_ttl.
  const gate = await serve(queue({ ...quick, hold_ttl: 24 }), ['--store', redis.url])
  const active = await activeVisitor(gate)
  await redis.stop()
  await page.goto(gate.at('shop.localhost', '/a'))
  await expect(page.getByRole('heading', { name: 'One moment' })).toBeVisible()
  await expect(part(page, 'position-section')).toBeHidden()
  await expect(part(page, 'hold-notice')).toBeHidden()
  await redis.start()
  await expect(part(page, 'position')).toHaveText('1', { timeout: 20_000 })
  expect(await active.status()).toMatchObject({ state: 'admitted' })
  await active.leave()
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible({ timeout: 20_000 })
})

test('active visitors continue while the store is down', async ({ redis, serve, page }) => {
  const gate = await serve(queue(quick), ['--store', redis.url])
  await page.goto(gate.at('shop.localhost', '/a'))
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
  await redis.stop()
  await page.goto(gate.at('shop.localhost', '/b'))
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
  await expect(page.getByText('You are at /b')).toBeVisible()
})
