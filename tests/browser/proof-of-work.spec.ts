import { resolve } from 'node:path'

import { expectAccessible } from './axe.ts'
import { filterCookies } from './cookie-filter.ts'
import { part, queue, QUEUE } from './queue.ts'
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

/** The calculation of difficulty 1 with the default effort. */
const DEFAULT_EFFORT = 2500
/** How much slower a low-end phone runs scripts. The browser throttles the page only, not its workers. */
const SLOWER = 6

test('a slow page stays usable while the browser calculates', async ({ serve, page }) => {
  const gate = await serve(proving(DEFAULT_EFFORT))
  const browser = await page.context().newCDPSession(page)
  await browser.send('Emulation.setCPUThrottlingRate', { rate: SLOWER })
  await page.addInitScript(() => {
    const tasks: PerformanceEntry[] = []
    new PerformanceObserver((list) => tasks.push(...list.getEntries())).observe({ type: 'longtask', buffered: true })
    Object.assign(window, { longTasks: tasks })
  })
  // Nothing asks the page meanwhile: that would be a task as well.
  const joined = page.waitForResponse('**/_vestibule/join?*', { timeout: 20_000 })
  await page.goto(gate.at('shop.localhost', '/'))
  expect((await joined).status()).toBe(200)
  const busy = await page.evaluate(() => {
    const [challenge, join] = ['challenge', 'join'].map((name) =>
      performance.getEntriesByType('resource').find((entry) => entry.name.includes(`/_vestibule/${name}?`)),
    ) as PerformanceResourceTiming[]
    const { longTasks } = window as unknown as { longTasks: PerformanceEntry[] }
    const calculating = longTasks.filter(({ startTime }) => startTime > challenge!.responseEnd && startTime < join!.startTime)
    const sum = calculating.reduce((sum, { duration }) => sum + duration, 0)
    return sum / (join!.startTime - challenge!.responseEnd)
  })
  // On a quiet machine there is no task above 50 ms. A page that calculates itself is busy all the time.
  expect(busy).toBeLessThan(0.25)
})

/** A page of the site with the widget in a form. */
const WIDGET = `<!doctype html><html lang="en"><title>The shop</title><script type="module" src="/altcha.js"></script>
<form><altcha-widget challenge="/_vestibule/challenge?queue=${QUEUE}"></altcha-widget></form></html>`

test('the ALTCHA widget joins the line', async ({ serve, page }) => {
  const gate = await serve(proving(500))
  const script = resolve(import.meta.dirname, 'node_modules/altcha/dist/main/altcha.min.js')
  await page.route('**/form', (route) => route.fulfill({ contentType: 'text/html', body: WIDGET }))
  await page.route('**/altcha.js', (route) => route.fulfill({ contentType: 'text/javascript', path: script }))
  // The first visit, and the second one, which says that a proof is needed.
  await page.goto(gate.at('shop.localhost', `/_vestibule/status?queue=${QUEUE}`))
  await page.reload()
  await page.goto(gate.at('shop.localhost', '/form'))
  await page.getByRole('checkbox').press('Space')
  const field = page.locator('input[name="altcha"]')
  await expect(field).toHaveValue(/^[\w+/]{100,}=*$/)
  const altcha = await field.inputValue()
  const status = await page.evaluate(
    async ([url, altcha]) => {
      const headers = { 'Content-Type': 'application/json' }
      const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ altcha }) })
      return answer.status
    },
    [`/_vestibule/join?queue=${QUEUE}`, altcha] as const,
  )
  expect(status).toBe(200)
  await page.goto(gate.at('shop.localhost', '/'))
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
    const notice = 'Cookies are blocked, so we cannot keep your position. Allow cookies, then try again.'
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
