import { addVisitors, activeVisitor, part, queue } from './queue.ts'
import { expect, test } from './server.ts'

test.use({ javaScriptEnabled: false })

test('the page works without JavaScript until admission', async ({ serve, page }) => {
  const gate = await serve(queue({ name: 'World tour' }))
  const active = await activeVisitor(gate)
  const [older] = await addVisitors(gate, 1)
  await page.goto(gate.at('shop.localhost', '/a?b=1'))
  await expect(page.getByRole('heading', { name: 'You’re in line' })).toBeVisible()
  await expect(page.getByText('World tour')).toBeVisible()
  await expect(part(page, 'position')).toHaveText('2')
  await expect(page.locator('noscript li')).toHaveText('This page reloads every 10 seconds.')
  await expect(page.locator('noscript li')).toBeVisible()
  await expect(page.getByText('Keep this page open. If you close it, come back within 10 minutes to keep your position.')).toBeVisible()
  await expect(part(page, 'offline')).toBeHidden()
  await expect(part(page, 'cookies-blocked')).toBeHidden()

  await older?.leave()
  await expect(part(page, 'position')).toHaveText('1', { timeout: 15_000 })
  await active.leave()
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible({ timeout: 20_000 })
  expect(page.url()).toBe(gate.at('shop.localhost', '/a?b=1'))
})

test('pause and closing end without JavaScript', async ({ serve, page }) => {
  const gate = await serve(queue({ mode: 'paused', waiting_ttl: 6 }))
  await page.goto(gate.at('shop.localhost', '/a'))
  await expect(page.getByRole('heading', { name: 'The line is paused' })).toBeVisible()
  await gate.reload(queue({ mode: 'closed', waiting_ttl: 6 }))
  await expect(page.getByRole('heading', { name: 'Closed for now' })).toBeVisible()
  await expect(page.getByRole('button', { name: 'Try again' })).toHaveCount(0)
  await gate.reload(queue({ waiting_ttl: 6 }))
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible({ timeout: 15_000 })
})
