import type { Page } from '@playwright/test'

import { overrideStatus, addVisitors, pollNow, activeVisitor, part, pollTimes, queue } from './queue.ts'
import { expect, test } from './server.ts'

const code = (page: Page) => page.getByText('Support code').locator('code').innerText()

test('reloading keeps the position', async ({ serve, page }) => {
  const gate = await serve(queue())
  const active = await activeVisitor(gate)
  await page.goto(gate.at('shop.localhost', '/'))
  const session = await code(page)
  const [younger] = await addVisitors(gate, 1)
  for (let time = 0; time < 3; time++) {
    await page.reload()
    await expect(part(page, 'position')).toHaveText('1')
    expect(await code(page)).toBe(session)
  }
  const asked = pollTimes(page)
  await expect.poll(() => asked.length).toBeGreaterThan(0)
  await expect.poll(async () => (await younger?.status())?.waiting).toBe(2)
  await active.leave()
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
  expect(await younger?.status()).toMatchObject({ state: 'waiting' })
})

test('a reopened tab returns to its position', async ({ serve, context }) => {
  const gate = await serve(queue())
  await activeVisitor(gate)
  const page = await context.newPage()
  await page.goto(gate.at('shop.localhost', '/'))
  const session = await code(page)
  const [younger] = await addVisitors(gate, 1)
  expect(await younger?.status()).toMatchObject({ position: 2 })

  await page.close({ runBeforeUnload: true })
  // The beacon of the closed page removed the visitor from the line.
  await expect.poll(async () => (await younger?.status())?.waiting).toBe(1)

  const again = await context.newPage()
  await again.goto(gate.at('shop.localhost', '/'))
  await expect(part(again, 'position')).toHaveText('1')
  expect(await code(again)).toBe(session)
  await expect.poll(async () => (await younger?.status())?.waiting).toBe(2)
})

test('a second tab shares the session and position', async ({ serve, context }) => {
  const gate = await serve(queue())
  await activeVisitor(gate)
  await addVisitors(gate, 1)
  const first = await context.newPage()
  await first.goto(gate.at('shop.localhost', '/'))
  const second = await context.newPage()
  await second.goto(gate.at('shop.localhost', '/other'))
  for (const page of [first, second]) await expect(part(page, 'position')).toHaveText('2')
  expect(await code(second)).toBe(await code(first))
  await expect(part(second, 'behind')).toHaveText('nobody yet')

  await second.close({ runBeforeUnload: true })
  const asked = pollTimes(first)
  await expect.poll(() => asked.length).toBeGreaterThan(1)
  await expect(part(first, 'position')).toHaveText('2')
})

test('the shown position never rises when others return', async ({ serve, page }) => {
  const gate = await serve(queue())
  const active = await activeVisitor(gate)
  const [older] = await addVisitors(gate, 1)
  await page.goto(gate.at('shop.localhost', '/'))
  await expect(part(page, 'position')).toHaveText('2')
  await older?.away()
  await expect(part(page, 'position')).toHaveText('1')

  expect(await older?.status()).toMatchObject({ position: 1, waiting: 2 })
  const seen = new Set<string>()
  const asked = pollTimes(page)
  await expect
    .poll(async () => {
      seen.add(await part(page, 'position').innerText())
      return asked.length
    })
    .toBeGreaterThan(2)
  await page.reload()
  seen.add(await part(page, 'position').innerText())
  expect([...seen]).toEqual(['1'])

  // The order of admission has not changed.
  await active.leave()
  await expect.poll(async () => (await older?.status())?.state).toBe('admitted')
  await expect(part(page, 'position')).toHaveText('1')
})

test('a page from the back/forward cache polls at once', async ({ serve, page }) => {
  const gate = await serve(queue())
  await activeVisitor(gate)
  const [older] = await addVisitors(gate, 1)
  await overrideStatus(page, { poll_after: 300 })
  await page.goto(gate.at('shop.localhost', '/'))
  const asked = pollTimes(page)
  await expect.poll(() => asked.length).toBe(1)
  await older?.leave()
  await expect(part(page, 'position')).toHaveText('2')
  await pollNow(page)
  await expect(part(page, 'position')).toHaveText('1')
})

test('the back button returns to the current position', async ({ serve, page }) => {
  const gate = await serve(queue())
  await activeVisitor(gate)
  const [older] = await addVisitors(gate, 1)
  await page.goto(gate.at('shop.localhost', '/a'))
  await expect(part(page, 'position')).toHaveText('2')
  const session = await code(page)
  await page.goto('about:blank')
  await older?.leave()
  await page.goBack()
  await expect(part(page, 'position')).toHaveText('1')
  expect(await code(page)).toBe(session)
})

test('the back button from the site skips the queue page', async ({ serve, page }) => {
  const gate = await serve(queue())
  const active = await activeVisitor(gate)
  await page.goto('data:text/html,<h1>A letter with a link</h1>')
  await page.goto(gate.at('shop.localhost', '/a'))
  await expect(part(page, 'position')).toHaveText('1')
  await active.leave()
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
  await page.goBack()
  await expect(page.getByRole('heading', { name: 'A letter with a link' })).toBeVisible()
  await page.goForward()
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
})

test('an ended visitor who returns gets a new position', async ({ serve, page }) => {
  const gate = await serve(queue())
  await page.goto(gate.at('shop.localhost', '/a'))
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
  const [waiting] = await addVisitors(gate, 1)
  await page.evaluate(() => fetch('/_vestibule/leave?queue=acme-tour', { method: 'POST' }))
  expect(await waiting?.status()).toMatchObject({ state: 'admitted' })
  await page.reload()
  await expect(part(page, 'position')).toHaveText('1')
})

test('a visitor who leaves can rejoin at the end', async ({ serve, page }) => {
  const gate = await serve(queue())
  await activeVisitor(gate)
  await page.goto(gate.at('shop.localhost', '/a'))
  const [younger] = await addVisitors(gate, 1)
  page.on('dialog', (dialog) => dialog.accept())
  await page.getByRole('button', { name: 'Leave the line' }).click()
  await expect(page.getByRole('heading', { name: 'You left the line' })).toBeVisible()
  await expect(part(page, 'position-section')).toBeHidden()
  expect(await younger?.status()).toMatchObject({ position: 1, waiting: 1 })
  await page.getByRole('link', { name: 'Join the line again' }).click()
  await expect(part(page, 'position')).toHaveText('2')
})

test('a session that joins again is shown its new position', async ({ serve, page }) => {
  const gate = await serve(queue())
  await activeVisitor(gate)
  await addVisitors(gate, 1)
  await page.goto(gate.at('shop.localhost', '/'))
  await expect(part(page, 'position')).toHaveText('2')
  // What a session of an account left behind that was first in line before.
  await page.evaluate(() => {
    const name = 'vestibule:acme-tour:seen'
    const seen = JSON.parse(sessionStorage.getItem(name) ?? '') as { joined_at: number }
    sessionStorage.setItem(name, JSON.stringify({ ...seen, joined_at: seen.joined_at - 60, first: 1, low: 1 }))
  })
  await page.reload()
  await expect(part(page, 'position')).toHaveText('2')
})

test('the page polls without web workers', async ({ serve, page }) => {
  const gate = await serve(queue())
  const active = await activeVisitor(gate)
  await page.addInitScript(() => Reflect.deleteProperty(window, 'Worker'))
  await page.goto(gate.at('shop.localhost', '/'))
  await expect(part(page, 'position')).toHaveText('1')
  await active.leave()
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
})

test('the page polls when its worker stops', async ({ serve, page }) => {
  const gate = await serve(queue())
  await page.addInitScript(() => {
    window.Worker = class {
      postMessage() {}
    } as unknown as typeof Worker
  })
  const active = await activeVisitor(gate)
  await page.goto(gate.at('shop.localhost', '/'))
  await active.leave()
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible({ timeout: 20_000 })
})

test('a lost ticket is replaced by a new position once', async ({
  serve,
  page,
  context,
}) => {
  const gate = await serve(queue())
  await activeVisitor(gate)
  await page.goto(gate.at('shop.localhost', '/'))
  const before = await code(page)
  await context.clearCookies()
  await expect.poll(() => code(page)).not.toBe(before)
  await expect(part(page, 'position-section')).toBeVisible()
  await expect(part(page, 'cookies-blocked')).toBeHidden()
  const asked = pollTimes(page)
  await expect.poll(() => asked.length).toBeGreaterThan(1)
})
