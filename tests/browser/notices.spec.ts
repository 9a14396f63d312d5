import { arrivals, occupant, part, queue, Visitor } from './queue.ts'
import { expect, test } from './redis.ts'

const quick = { waiting_ttl: 6 }

test('a paused line says so, keeps everyone’s place and goes on by itself', async ({ serve, page }) => {
  const gate = await serve(queue(quick))
  const inside = await occupant(gate)
  await page.goto(gate.at('shop.localhost', '/a'))
  await expect(part(page, 'position')).toHaveText('1')

  await gate.reload(queue({ ...quick, mode: 'paused' }))
  await expect(page.getByRole('heading', { name: 'The line is paused' })).toBeVisible()
  await expect(page.getByRole('status')).toHaveText(/^The line is paused\. Admissions are paused\. You keep your position\./)
  await expect(part(page, 'wait-row')).toBeHidden()
  await inside.leave()
  const newcomer = new Visitor(gate)
  expect(await newcomer.arrive()).toMatchObject({ state: 'paused', position: 2 })
  await expect(part(page, 'position')).toHaveText('1')

  await gate.reload(queue(quick))
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
  expect(await newcomer.standing()).toMatchObject({ state: 'waiting', position: 1 })
})

test('one who comes to a closed queue sees when it opens, without doing anything', async ({ serve, page }) => {
  const gate = await serve(queue({ ...quick, mode: 'closed' }))
  await page.goto(gate.at('shop.localhost', '/a?b=1'))
  await expect(page.getByRole('heading', { name: 'Closed for now' })).toBeVisible()
  await expect(page.getByText('Acme is closed to new visitors.')).toBeVisible()
  await expect(part(page, 'position')).toHaveCount(0)
  await gate.reload(queue(quick))
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
  expect(page.url()).toBe(gate.at('shop.localhost', '/a?b=1'))
})

test('one who waits while the queue closes is told so, and is back at the same place when it opens', async ({
  serve,
  page,
}) => {
  const gate = await serve(queue(quick))
  const inside = await occupant(gate)
  await page.goto(gate.at('shop.localhost', '/a'))
  await expect(part(page, 'position')).toHaveText('1')
  const [younger] = await arrivals(gate, 1)
  await gate.reload(queue({ ...quick, mode: 'closed' }))
  await expect(page.getByRole('heading', { name: 'Closed for now' })).toBeVisible()
  await expect(page.getByText(/^We keep your position until \d+:\d\d\.$/)).toBeVisible()
  await gate.reload(queue(quick))
  await expect(part(page, 'position')).toHaveText('1')
  await expect.poll(async () => (await younger?.standing())?.waiting).toBe(2)
  await inside.leave()
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
  expect(await younger?.standing()).toMatchObject({ state: 'waiting' })
})

test('while the store is away the page says that the place is safe, shows it, and goes on afterwards', async ({
  redis,
  serve,
  page,
}) => {
  const gate = await serve(queue(quick), ['--store', redis.url])
  const inside = await occupant(gate)
  const [older] = await arrivals(gate, 1)
  await page.goto(gate.at('shop.localhost', '/a'))
  await expect(part(page, 'position')).toHaveText('2')

  await redis.stop()
  await expect(page.getByRole('heading', { name: 'Reconnecting' })).toBeVisible()
  await expect(page.getByText('You see your last known position. This page keeps trying.').first()).toBeVisible()
  await expect(part(page, 'position')).toHaveText('2')
  // The line itself, not the connection, is away; and reloading doesn't take the last known position.
  await expect(part(page, 'offline')).toBeHidden()
  await page.reload()
  await expect(page.getByRole('heading', { name: 'Reconnecting' })).toBeVisible()
  await expect(part(page, 'position')).toHaveText('2')

  // It comes back empty. Tickets bring everybody back in the order in which they came.
  await redis.start()
  await expect(page.getByRole('heading', { name: 'You’re in line' })).toBeVisible({ timeout: 20_000 })
  expect(await inside.standing()).toMatchObject({ state: 'admitted' })
  await expect.poll(async () => (await older?.standing())?.position).toBe(1)
  await expect(part(page, 'position')).toHaveText('2')
  await older?.leave()
  await inside.leave()
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible({ timeout: 20_000 })
})

test('one who comes for the first time while the store is away waits as well, and then gets a place', async ({
  redis,
  serve,
  page,
}) => {
  const gate = await serve(queue(quick), ['--store', redis.url])
  const inside = await occupant(gate)
  await redis.stop()
  await page.goto(gate.at('shop.localhost', '/a'))
  await expect(page.getByRole('heading', { name: 'One moment' })).toBeVisible()
  await expect(part(page, 'position-section')).toBeHidden()
  await expect(part(page, 'hold-notice')).toBeHidden()
  await redis.start()
  await expect(part(page, 'position')).toHaveText('1', { timeout: 20_000 })
  expect(await inside.standing()).toMatchObject({ state: 'admitted' })
  await inside.leave()
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible({ timeout: 20_000 })
})

test('one who is in stays in while the store is away', async ({ redis, serve, page }) => {
  const gate = await serve(queue(quick), ['--store', redis.url])
  await page.goto(gate.at('shop.localhost', '/a'))
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
  await redis.stop()
  await page.goto(gate.at('shop.localhost', '/b'))
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
  await expect(page.getByText('You are at /b')).toBeVisible()
})
