import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from '@playwright/test'

import { eventIn, part, queue, tabTo, Visitor } from './queue.ts'
import { expect, test } from './server.ts'

const quick = { waiting_ttl: 6, mode: 'scheduled' }

/** An event in order of arrival that starts in this many seconds. */
function event(seconds: number): Record<string, string> {
  return { ...eventIn(seconds), order: 'arrival' }
}

async function expectAccessible(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']).analyze()
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`)).toEqual([])
}

test('the countdown ends in the shop, whatever the clock says', async ({ serve, page }) => {
  // The visitor's clock is an hour ahead.
  await page.addInitScript(() => {
    const now = Date.now
    Date.now = () => now() + 3_600_000
  })
  const gate = await serve(queue({ ...quick, events: [event(14)] }))
  await page.goto(gate.at('shop.localhost', '/a?b=1'))
  await expect(page.getByRole('heading', { name: /^Start of Spring sale: / })).toBeVisible()
  await expect(page.getByRole('heading', { name: /UTC/ })).toHaveCount(0)
  await expect(part(page, 'position')).toHaveText('1')
  await expect(part(page, 'countdown')).toHaveText(/^0:\d\d$/)
  await expectAccessible(page)
  await expect(page.getByRole('status')).toHaveText(/^Starts in 10 seconds/)
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible({ timeout: 30_000 })
  expect(page.url()).toBe(gate.at('shop.localhost', '/a?b=1'))
})

test('a countdown that skips times announces what is left', async ({ serve, page }) => {
  const gate = await serve(queue({ ...quick, events: [event(720)] }))
  await page.clock.install()
  await page.goto(gate.at('shop.localhost', '/'))
  await expect(part(page, 'countdown')).toHaveText(/^1[12]:\d\d$/)
  // The device slept.
  await page.clock.fastForward(680_000)
  await expect(page.getByRole('status')).toHaveText(/^Starts in \d\d seconds$/)
})

test('the countdown is used by keyboard and survives the back button', async ({ serve, shop, page }) => {
  const gate = await serve(queue({ ...quick, quota: 0, events: [event(900)] }))
  await page.goto(gate.at('shop.localhost', '/a?b=1'))
  const younger = new Visitor(gate)
  await younger.arrive()
  await page.goto(`${shop.url}/elsewhere`)
  await page.goBack()
  await expect(page.getByRole('heading', { name: /^Start of Spring sale: / })).toBeVisible()
  await expect(part(page, 'position')).toHaveText('1')
  await expect(part(page, 'countdown')).toHaveText(/^1[45]:\d\d$/)
  // The page was away, and comes back with its next poll.
  await expect.poll(() => younger.status()).toMatchObject({ position: 2, waiting: 2 })
  const leave = page.getByRole('button', { name: 'Leave the line' })
  await tabTo(page, leave)
  const counted = await part(page, 'countdown').textContent()
  await expect(part(page, 'countdown')).not.toHaveText(counted ?? '')
  await expect(leave).toBeFocused()
  page.on('dialog', (dialog) => dialog.accept())
  await page.keyboard.press('Enter')
  await expect(page.getByRole('heading', { name: 'You left the line' })).toBeVisible()
  expect(await younger.status()).toMatchObject({ position: 1, waiting: 1 })
})

test('the closed page counts down to the next event', async ({ serve, page }) => {
  const gate = await serve(queue({ ...quick, between_events: 'closed', events: [{ ...event(7200), lobby_at: event(3600).starts_at! }] }))
  await page.goto(gate.at('shop.localhost', '/'))
  await expect(page.getByRole('heading', { name: /^Start of Spring sale: / })).toBeVisible()
  await expect(part(page, 'countdown')).toHaveText(/^(2:00:00|1:59:\d\d)$/)
  const heading = await page.getByRole('heading', { level: 1 }).textContent()
  await expect(page).toHaveTitle(new RegExp(`^${heading} · `))
  await expectAccessible(page)
  await gate.reload(queue({ ...quick, mode: 'open' }))
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
})

test('with reduced motion the countdown shows minutes', async ({ serve, browser }) => {
  const gate = await serve(queue({ ...quick, events: [event(170)] }))
  const page = await (await browser.newContext({ reducedMotion: 'reduce' })).newPage()
  await page.goto(gate.at('shop.localhost', '/'))
  await expect(part(page, 'countdown')).toHaveText('3 minutes')
  await page.context().close()
})

test('without JavaScript the page names the start in UTC', async ({ serve, browser }) => {
  const gate = await serve(queue({ ...quick, events: [event(900)] }))
  const page = await (await browser.newContext({ javaScriptEnabled: false })).newPage()
  await page.goto(gate.at('shop.localhost', '/'))
  await expect(page.getByRole('heading', { name: /^Start of Spring sale: \d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)? UTC$/ })).toBeVisible()
  await expect(part(page, 'countdown')).toHaveText(/^about 15 minutes$/)
  await expect(page.locator('noscript meta[http-equiv="refresh"]')).toHaveCount(1)
  await page.context().close()
})
