import { expectAccessible } from './axe.ts'
import { filterCookies } from './cookie-filter.ts'
import { part, queue } from './queue.ts'
import { expect, test } from './server.ts'

/** Nobody is admitted, and every newcomer proves work of this many key derivations in the mean. */
const proving = (effort: number) =>
  queue({
    quota: 0,
    protection: { pre_ticket_from: 0, mode: 'enforce', proof_of_work: { mode: 'always', effort } },
  })
/** So much that no test ends before it is done. */
const ENDLESS = 100_000
const SOLVING = 'Your browser is doing a short calculation.'
const LATER = 'Keep this page open; you join the line a little later without it.'

test('a newcomer solves a challenge and joins without a reload', async ({ serve, page }) => {
  const gate = await serve(proving(500))
  const errors: string[] = []
  let documents = 0
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
  page.on('request', (request) => (documents += request.isNavigationRequest() ? 1 : 0))
  const joined = page.waitForResponse('**/_vestibule/join?*')
  await page.goto(gate.at('shop.localhost', '/a?b=1'))
  expect((await joined).status()).toBe(200)
  await expect(part(page, 'position')).toHaveText('1')
  await expect(part(page, 'proof')).toBeHidden()
  await expect(part(page, 'support-code')).toHaveText(/^[0-9A-Z]{4}-[0-9A-Z]{4}$/)
  expect(documents).toBe(1)
  expect(errors.filter((error) => error.includes('Content Security Policy'))).toEqual([])
  await page.reload()
  await expect(part(page, 'position')).toHaveText('1')
})

test('the page shows the progress of the calculation', async ({ serve, page }) => {
  const gate = await serve(proving(ENDLESS))
  await page.emulateMedia({ reducedMotion: 'reduce' })
  await page.goto(gate.at('shop.localhost', '/'))
  await expect(part(page, 'lead')).toHaveText(SOLVING)
  const bar = page.getByRole('progressbar', { name: 'Progress of the calculation' })
  await expect.poll(() => bar.evaluate((bar: HTMLProgressElement) => bar.value)).toBeGreaterThan(0)
  await expect(page.getByRole('status')).toHaveText(SOLVING)
  await expectAccessible(page, 'solving')
})

test('a browser that cannot solve challenges joins later', async ({ serve, page }) => {
  const gate = await serve(proving(ENDLESS))
  await page.addInitScript(() => Object.defineProperty(window.crypto, 'subtle', { value: undefined }))
  await page.goto(gate.at('shop.localhost', '/'))
  await expect(part(page, 'lead')).toContainText(LATER)
  await expect(page.getByRole('progressbar')).toBeHidden()
})

test('cookies that are blocked while a challenge is needed are explained', async ({ serve, page }) => {
  const gate = await serve(queue({
    quota: 0,
    protection: { pre_ticket_from: 'none', mode: 'enforce', proof_of_work: { mode: 'always', effort: 500 } },
  }))
  const filter = await filterCookies(gate)
  try {
    await page.goto(filter.at('shop.localhost', '/'))
    const notice = 'Cookies are blocked, so we can’t keep your position. Allow cookies, then try again.'
    await expect(page.getByText(notice).first()).toBeVisible({ timeout: 10_000 })
  } finally {
    await filter.close()
  }
})

test.describe('without JavaScript', () => {
  test.use({ javaScriptEnabled: false })

  test('the page says that the visitor joins later, and reloads then', async ({ serve, page }) => {
    const gate = await serve(proving(ENDLESS))
    await page.goto(gate.at('shop.localhost', '/'))
    await expect(part(page, 'lead')).toContainText(LATER, { timeout: 5000 })
    const refresh = await page.locator('meta[http-equiv="refresh"]').getAttribute('content')
    expect(Number(refresh)).toBeGreaterThan(20)
    expect(Number(refresh)).toBeLessThanOrEqual(30)
  })
})
