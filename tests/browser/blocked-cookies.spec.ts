import type { Page } from '@playwright/test'

import { filterCookies } from './cookie-filter.ts'
import { activeVisitor, part, pollTimes, queue } from './queue.ts'
import { expect, test } from './server.ts'

const explanation = 'Cookies are blocked, so we cannot keep your position. Allow cookies, then try again.'

/** The page explains the problem and stops polling: no request for longer than two polls. */
async function expectExplained(page: Page, asked: number[]): Promise<void> {
  await expect(page.getByText(explanation).first()).toBeVisible({ timeout: 15_000 })
  await expect(page.getByRole('link', { name: 'Try again' })).toBeVisible()
  await expect(page.getByRole('status')).toContainText('Allow cookies')
  const before = asked.length
  await expect.poll(() => Date.now() - (asked.at(-1) ?? 0), { timeout: 15_000 }).toBeGreaterThan(5000)
  expect(asked.length).toBe(before)
}

test('blocked cookies are explained and join once', async ({ serve, page }) => {
  const gate = await serve(queue())
  const active = await activeVisitor(gate)
  const filter = await filterCookies(gate)
  await page.addInitScript(() => {
    Object.defineProperty(navigator, 'cookieEnabled', { get: () => false })
    const blocked = () => {
      throw new DOMException('Access is denied for this document.', 'SecurityError')
    }
    Object.defineProperty(window, 'sessionStorage', { get: blocked })
  })
  try {
    const asked = pollTimes(page)
    await page.goto(filter.at('shop.localhost', '/'))
    await expectExplained(page, asked)
    expect((await active.status()).waiting).toBe(1)
  } finally {
    await filter.close()
  }
})

test('filtered cookies are explained and join twice at most', async ({
  serve,
  page,
}) => {
  const gate = await serve(queue())
  const active = await activeVisitor(gate)
  const filter = await filterCookies(gate)
  try {
    const asked = pollTimes(page)
    await page.goto(filter.at('shop.localhost', '/'))
    await expectExplained(page, asked)
    expect((await active.status()).waiting).toBe(2)
  } finally {
    await filter.close()
  }
})

test('"Try again" joins after cookies are allowed', async ({ serve, page, context }) => {
  const gate = await serve(queue())
  await activeVisitor(gate)
  await page.addInitScript(() => Object.defineProperty(navigator, 'cookieEnabled', { get: () => false }))
  await page.goto(gate.at('shop.localhost', '/'))
  await context.clearCookies()
  await page.getByRole('link', { name: 'Try again' }).click()
  await expect(part(page, 'cookies-blocked')).toBeHidden()
  await expect(part(page, 'position-section')).toBeVisible()
  const asked = pollTimes(page)
  await expect.poll(() => asked.length).toBeGreaterThan(1)
  await expect(part(page, 'cookies-blocked')).toBeHidden()
})
