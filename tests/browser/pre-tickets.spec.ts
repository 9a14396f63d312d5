import { filterCookies } from './cookie-filter.ts'
import { addVisitors, part, pollTimes, queue } from './queue.ts'
import { expect, test } from './server.ts'

/** Nobody is admitted, and every newcomer needs a pre-ticket. */
const always = () => queue({ quota: 0, protection: { pre_ticket_from: 0 } })

test('a first visit joins without a reload', async ({ serve, page }) => {
  const gate = await serve(always())
  let documents = 0
  page.on('request', (request) => (documents += request.isNavigationRequest() ? 1 : 0))
  await page.goto(gate.at('shop.localhost', '/a?b=1'))
  await expect(page.getByRole('heading', { name: 'You’re in line' })).toBeVisible({ timeout: 3000 })
  await expect(part(page, 'position')).toHaveText('1')
  await expect(page.getByRole('status')).toHaveText(/^You’re in line\. .* Your position: 1\./)
  await expect(part(page, 'support-code')).toHaveText(/^[0-9A-Z]{4}-[0-9A-Z]{4}$/)
  await expect(part(page, 'hold')).toBeVisible()
  await expect(part(page, 'leave')).toBeVisible()
  expect(documents).toBe(1)
  await page.reload()
  await expect(part(page, 'position')).toHaveText('1')
  expect(page.url()).toBe(gate.at('shop.localhost', '/a?b=1'))
})

test('the styles of a first page apply', async ({ serve, page }) => {
  const gate = await serve(always())
  const errors: string[] = []
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
  await page.route('**/_vestibule/status?*', (route) => route.abort())
  await page.goto(gate.at('shop.localhost', '/'))
  await expect(page.getByRole('heading', { name: 'One moment' })).toBeVisible()
  await expect(page.getByText('We’re reserving your place in line.')).toBeVisible()
  // Nobody keeps a position that there is not.
  await expect(page.getByRole('status')).toHaveText('No connection to the line. We keep trying.')
  expect(await page.locator('main').evaluate((main) => getComputedStyle(main).borderRadius)).not.toBe('0px')
  expect(errors.filter((error) => error.includes('Content Security Policy'))).toEqual([])
})

test('the reason for starting again is shown after joining', async ({ serve, page }) => {
  const gate = await serve(always())
  await page.goto(gate.at('shop.localhost', '/'))
  await expect(part(page, 'position')).toHaveText('1')
  const cookies = await page.context().cookies()
  page.on('dialog', (dialog) => dialog.accept())
  await part(page, 'leave').click()
  await expect(page.getByRole('heading', { name: 'You left the line' })).toBeVisible()
  // Another device of this visitor still has the ticket.
  await page.context().addCookies(cookies)
  const status = '**/_vestibule/status?*'
  await page.route(status, (route) => route.abort())
  await page.goto(gate.at('shop.localhost', '/'))
  await expect(page.getByRole('heading', { name: 'One moment' })).toBeVisible()
  await expect(part(page, 'reason')).toBeHidden()
  await page.unroute(status)
  await expect(part(page, 'position')).toHaveText('1', { timeout: 10_000 })
  await expect(part(page, 'reason')).toHaveText('Your previous session has ended, so you joined the line again at the end.')
})

test('filtered cookies are explained and join nobody', async ({ serve, page }) => {
  const gate = await serve(always())
  const [other] = await addVisitors(gate, 1)
  const filter = await filterCookies(gate)
  try {
    const asked = pollTimes(page)
    await page.goto(filter.at('shop.localhost', '/'))
    const notice = 'Cookies are blocked, so we cannot keep your position. Allow cookies, then try again.'
    await expect(page.getByText(notice).first()).toBeVisible({ timeout: 3000 })
    await expect.poll(() => asked.length, { timeout: 25_000 }).toBe(3)
    expect((asked[2] ?? 0) - (asked[1] ?? 0)).toBeGreaterThan(9000)
    expect((await other?.status())?.waiting).toBe(1)
  } finally {
    await filter.close()
  }
})

test.describe('without JavaScript', () => {
  test.use({ javaScriptEnabled: false })

  test('a first visit joins by a refresh', async ({ serve, page }) => {
    const gate = await serve(always())
    await page.goto(gate.at('shop.localhost', '/a?b=1'))
    await expect(part(page, 'position')).toHaveText('1', { timeout: 5000 })
    expect(page.url()).toBe(gate.at('shop.localhost', '/a?b=1'))
  })

  test('visitors without cookies are asked to allow them', async ({ serve, page }) => {
    const gate = await serve(always())
    const filter = await filterCookies(gate)
    try {
      await page.goto(filter.at('shop.localhost', '/'))
      await expect(page.locator('noscript p')).toHaveText('If this page does not change, allow cookies for this site.')
    } finally {
      await filter.close()
    }
  })
})
