import type { Page } from '@playwright/test'

import { withoutCookies } from './between.ts'
import { occupant, part, questions, queue } from './queue.ts'
import { expect, test } from './server.ts'

const explanation = 'Cookies are blocked, so we can’t keep your position. Allow cookies, then try again.'

/** The page says what is wrong and asks no more: nothing came for longer than two rounds take. */
async function explainsAndStops(page: Page, asked: number[]): Promise<void> {
  await expect(page.getByText(explanation).first()).toBeVisible({ timeout: 15_000 })
  await expect(page.getByRole('link', { name: 'Try again' })).toBeVisible()
  await expect(page.getByRole('status')).toContainText('Allow cookies')
  const before = asked.length
  await expect.poll(() => Date.now() - (asked.at(-1) ?? 0), { timeout: 15_000 }).toBeGreaterThan(5000)
  expect(asked.length).toBe(before)
}

test('a browser that blocks cookies is told so, and counts once', async ({ serve, page }) => {
  const gate = await serve(queue())
  const inside = await occupant(gate)
  const between = await withoutCookies(gate)
  await page.addInitScript(() => {
    Object.defineProperty(navigator, 'cookieEnabled', { get: () => false })
    const blocked = () => {
      throw new DOMException('Access is denied for this document.', 'SecurityError')
    }
    Object.defineProperty(window, 'sessionStorage', { get: blocked })
  })
  try {
    const asked = questions(page)
    await page.goto(between.at('shop.localhost', '/'))
    await explainsAndStops(page, asked)
    expect((await inside.standing()).waiting).toBe(1)
  } finally {
    await between.close()
  }
})

test('where something on the way eats the cookies the visitor is told so, and counts twice at most', async ({
  serve,
  page,
}) => {
  const gate = await serve(queue())
  const inside = await occupant(gate)
  const between = await withoutCookies(gate)
  try {
    const asked = questions(page)
    await page.goto(between.at('shop.localhost', '/'))
    await explainsAndStops(page, asked)
    expect((await inside.standing()).waiting).toBe(2)
  } finally {
    await between.close()
  }
})

test('with cookies allowed again, "Try again" takes a place', async ({ serve, page, context }) => {
  const gate = await serve(queue())
  await occupant(gate)
  await page.addInitScript(() => Object.defineProperty(navigator, 'cookieEnabled', { get: () => false }))
  await page.goto(gate.at('shop.localhost', '/'))
  await context.clearCookies()
  await page.getByRole('link', { name: 'Try again' }).click()
  await expect(part(page, 'cookies-blocked')).toBeHidden()
  await expect(part(page, 'position-section')).toBeVisible()
  const asked = questions(page)
  await expect.poll(() => asked.length).toBeGreaterThan(1)
  await expect(part(page, 'cookies-blocked')).toBeHidden()
})
