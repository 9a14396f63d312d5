import { createHash, createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import type { Page } from '@playwright/test'

import { expectAccessible } from './axe.ts'
import { filterCookies } from './cookie-filter.ts'
import { eventIn, part, pollTimes, queue, QUEUE, STATUS, tabTo, Visitor } from './queue.ts'
import { expect, test, type Settings } from './server.ts'
import { controlVisibility } from './visibility.ts'

const quick = { waiting_ttl: 6, mode: 'scheduled' }
const saleKey = Buffer.from(Array.from({ length: 32 }, (_, i) => i))
const saleKeys = ['--sale-keys', `s1:${saleKey.toString('base64')}`]

type Fields = Parameters<typeof queue>[0]

/** Settings with an event whose order is drawn for ten seconds. */
function draw(event: Record<string, string>, fields: Fields = {}): Settings {
  const drawn = { ...event, order: 'draw', draw_seconds: 10, key: 's1', salt: 'b7f3a1' }
  return queue({ ...quick, ...fields, events: [drawn] })
}

// The draw as docs and design describe it, without code of the gate.
const hmac = (key: Buffer, ...parts: (string | Buffer)[]) =>
  parts.reduce<ReturnType<typeof createHmac>>((mac, part) => mac.update(part), createHmac('sha256', key)).digest()

function secretOf(queue: string, event: string, salt: string): Buffer {
  return hmac(saleKey, 'vestibule draw secret 1\0', queue, '\0', event, '\0', salt)
}

const commitmentOf = (secret: Buffer) => createHash('sha256').update(secret).digest('hex')

function seedOf(secret: Buffer, queue: string, event: string, startsAt: number): Buffer {
  const start = Buffer.alloc(8)
  start.writeBigUInt64BE(BigInt(startsAt))
  return hmac(secret, 'vestibule draw 1\0', queue, '\0', event, '\0', start)
}

/** The number of a session: its UUID without the two bytes of version and variant. */
function numberOf(seed: Buffer, session: string): bigint {
  const uuid = Buffer.from(session.replaceAll('-', ''), 'hex')
  const bytes = Buffer.concat([uuid.subarray(0, 6), uuid.subarray(7, 8), uuid.subarray(9)])
  return hmac(seed, bytes).readBigUInt64BE()
}

const shownNumber = (number: bigint) => `0.${String((number * 1_000_000n) >> 64n).padStart(6, '0')}`

/** Collects the texts of the live region from now on. */
async function recordAnnouncements(page: Page): Promise<void> {
  await page.evaluate(() => {
    const said: string[] = []
    const live = document.querySelector('[data-vestibule="live"]') as Element
    new MutationObserver(() => said.push(live.textContent)).observe(live, { childList: true, characterData: true, subtree: true })
    Object.assign(window, { said })
  })
}

const announcements = (page: Page) => page.evaluate(() => (window as unknown as { said: string[] }).said)

test('numbers agree with the published known answers', () => {
  const secret = secretOf('acme-tour', 'spring-sale', 'b7f3a1')
  expect(secret.toString('hex')).toBe('eadb926a4097359da14079ae8ae8480270a333162da16a27413e77836f4620cb')
  expect(commitmentOf(secret)).toBe('58634f96a38bcb2b841e4cc0cbc451f68ca0aae969d79db2e5f60e068012f90d')
  const seed = seedOf(secret, 'acme-tour', 'spring-sale', 1_804_154_400)
  expect(seed.toString('hex')).toBe('1cba7187014e169c730a6bbb38e7d2ccfa4e66c1908b39ec422fe0ca0425b7f2')
  const number = numberOf(seed, '00010203-0405-4006-8007-08090a0b0c0d')
  expect([number, shownNumber(number)]).toEqual([15_786_008_141_119_367_631n, '0.855761'])
})

test('the order of visitors follows the published seed', async ({ serve }) => {
  const gate = await serve(draw(eventIn(6), { quota: 0 }), saleKeys)
  const visitors = Array.from({ length: 5 }, () => new Visitor(gate))
  const observer = new Visitor(gate)
  const sessions: string[] = []
  for (const visitor of visitors) sessions.push((await visitor.arrive()).session ?? '')
  const before = (await observer.line()).event
  expect(before.draw).toMatchObject({ secret: null, seed: null })
  const secret = secretOf(QUEUE, before.id, before.draw.salt)
  expect(before.draw.commitment).toBe(commitmentOf(secret))
  expect(before.lobby_tickets).toBe(visitors.length)

  const statuses = () => Promise.all(visitors.map((visitor) => visitor.status()))
  const states = async () => [...new Set((await statuses()).map(({ state }) => state))]
  await expect.poll(states, { timeout: 30_000 }).toEqual(['waiting'])
  const { draw: published, starts_at } = (await observer.line()).event
  expect(published).toEqual({ ...before.draw, secret: secret.toString('hex'), seed: expect.any(String) })
  const seed = seedOf(secret, QUEUE, before.id, starts_at)
  expect(published.seed).toBe(seed.toString('hex'))
  const numbers = sessions.map((session) => numberOf(seed, session))
  const after = await statuses()
  expect(after.map(({ session }) => session)).toEqual(sessions)
  expect(after.map(({ event }) => event?.number)).toEqual(numbers.map(shownNumber))
  const ranks = numbers.map((number) => 1 + numbers.filter((other) => other < number).length)
  expect(after.map(({ position }) => position)).toEqual(ranks)
})

test('a visitor goes from the countdown through the draw to the site', async ({ serve, page }) => {
  // The visitor's clock is an hour ahead.
  await page.addInitScript(() => {
    const now = Date.now
    Date.now = () => now() + 3_600_000
  })
  const event = eventIn(14)
  const gate = await serve(draw(event, { quota: 0 }), saleKeys)
  const asked = pollTimes(page)
  let loads = 0
  page.on('load', () => (loads += 1))
  await page.goto(gate.at('shop.localhost', '/a?b=1'))
  await recordAnnouncements(page)
  await expect(page.getByRole('heading', { name: /^Start of Spring sale: / })).toBeVisible()
  await expect(page.getByRole('heading', { name: /UTC/ })).toHaveCount(0)
  await expect(part(page, 'lead')).toHaveText('Everyone here gets a random position at the start.')
  await expect(part(page, 'countdown')).toHaveText(/^0:\d\d$/)
  for (const hidden of ['position-section', 'number', 'leave']) await expect(part(page, hidden)).toBeHidden()
  await expect(part(page, 'hold')).toContainText('no later than 10 minutes after the start')
  await expect(page.getByText('in order of arrival')).toHaveCount(0)
  await expectAccessible(page, 'lobby')

  await expect(page.getByRole('heading', { name: 'Assigning positions' })).toBeVisible({ timeout: 20_000 })
  await expect(part(page, 'countdown-label')).toHaveText('Admissions begin in')
  await expect(part(page, 'countdown')).toHaveText(/^0:\d\d$/)
  await expect(part(page, 'number')).toHaveText(/^Your number in the draw: 0\.\d{6}$/)
  await expectAccessible(page, 'draw')
  expect(Math.min(...asked)).toBeGreaterThanOrEqual(Date.parse(event.starts_at ?? ''))

  await expect(page.getByRole('heading', { name: 'You’re in line' })).toBeVisible({ timeout: 20_000 })
  await expect(part(page, 'position')).toHaveText('1')
  await expect(part(page, 'number')).toBeVisible()
  await expect(part(page, 'hold')).toContainText('come back within 10 minutes to keep your position')
  await expect(page.getByText('Visitors are admitted in the random order of the draw.')).toBeVisible()
  await expectAccessible(page, 'in line after the draw')
  const said = (await announcements(page)).join(' | ')
  expect(said).toMatch(/Starts in 10 seconds .* It starts now\. Positions are assigned at random\. .*/)
  expect(said.match(/Your number in the draw/g)).toHaveLength(1)
  expect(said).toMatch(/You’re in line\. .*Your position: 1\./)
  expect(said).not.toContain('in order of arrival')
  expect(loads).toBe(1)

  await gate.reload(draw(event, { quota: 1 }))
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible({ timeout: 20_000 })
  expect(page.url()).toBe(gate.at('shop.localhost', '/a?b=1'))
})

test('a hidden tab takes part in the draw', async ({ serve, page }) => {
  const gate = await serve(draw(eventIn(8)), saleKeys)
  await controlVisibility(page, 'hidden')
  await page.goto(gate.at('shop.localhost', '/'))
  await expect(page.getByRole('heading', { name: /^Start of Spring sale: / })).toBeVisible()
  await expect(page).toHaveTitle('● It’s your turn · Acme', { timeout: 40_000 })
})

test('the lobby is used by keyboard, and its end does not move the focus', async ({ serve, page }) => {
  const gate = await serve(draw(eventIn(10), { quota: 0 }), saleKeys)
  await page.goto(gate.at('shop.localhost', '/'))
  const link = page.getByRole('link', { name: 'How is this fair?' })
  await expect(link).toBeVisible()
  await tabTo(page, link)
  await expect(page.getByRole('heading', { name: 'Assigning positions' })).toBeVisible({ timeout: 20_000 })
  await expect(link).toBeFocused()
  const [published] = await Promise.all([page.context().waitForEvent('page'), page.keyboard.press('Enter')])
  await expect(published.locator('body')).toContainText(commitmentOf(secretOf(QUEUE, 'sale', 'b7f3a1')))
  await published.close()
  await expect(page.getByRole('heading', { name: 'You’re in line' })).toBeVisible({ timeout: 20_000 })
  page.on('dialog', (dialog) => dialog.accept())
  await tabTo(page, page.getByRole('button', { name: 'Leave the line' }))
  await page.keyboard.press('Enter')
  await expect(page.getByRole('heading', { name: 'You left the line' })).toBeVisible()
})

test('the back button leads back to the lobby, and to the same number', async ({ serve, shop, page }) => {
  const gate = await serve(draw(eventIn(10), { quota: 0 }), saleKeys)
  const observer = new Visitor(gate)
  await page.goto(gate.at('shop.localhost', '/a?b=1'))
  await expect(page.getByRole('heading', { name: /^Start of Spring sale: / })).toBeVisible()
  await page.goto(`${shop.url}/elsewhere`)
  await page.goBack()
  await expect(page.getByRole('heading', { name: /^Start of Spring sale: / })).toBeVisible()
  await expect(part(page, 'countdown')).toHaveText(/^0:\d\d$/)
  expect((await observer.line()).event.lobby_tickets).toBe(1)
  const number = /^Your number in the draw: 0\.\d{6}$/
  await expect(part(page, 'number')).toHaveText(number, { timeout: 20_000 })
  const shown = await part(page, 'number').textContent()
  await page.goto(`${shop.url}/elsewhere`)
  await page.goBack()
  await expect(part(page, 'number')).toHaveText(shown ?? '', { timeout: 20_000 })
  await expect(part(page, 'position')).toHaveText('1', { timeout: 20_000 })
  expect(page.url()).toBe(gate.at('shop.localhost', '/a?b=1'))
})

test('the lobby asks for the line document until something changes', async ({ serve, page }) => {
  const event = eventIn(3000)
  const gate = await serve(draw(event), saleKeys)
  const asked: string[] = []
  page.on('requestfinished', (request) => {
    const name = /\/_vestibule\/(status|line)\?/.exec(request.url())?.[1]
    if (name) asked.push(name)
  })
  // A page with a route has no cache.
  let readable = true
  await page.route('**/_vestibule/line?*', (route) => (readable ? route.continue() : route.fulfill({ status: 503, body: '{}' })))
  const observer = new Visitor(gate)
  // Time for every interval of the lobby.
  const pass = () => page.clock.fastForward(250_000)
  await page.clock.install()
  await page.goto(gate.at('shop.localhost', '/'))
  // Once after loading, to see whether the ticket was stored.
  await expect.poll(() => asked).toEqual(['status'])
  await pass()
  await expect.poll(() => asked).toEqual(['status', 'line'])
  await pass()
  await expect.poll(() => asked).toEqual(['status', 'line', 'line'])

  await gate.reload(draw(event, { message: { default: 'Floor tickets are sold out.' } }))
  await expect.poll(async () => (await observer.line()).message).toBeTruthy()
  await pass()
  await expect.poll(() => asked.slice(3)).toEqual(['line', 'status'])
  await expect(part(page, 'message')).toHaveText('Floor tickets are sold out.')

  // Without the document, the status answers.
  readable = false
  await pass()
  await expect.poll(() => asked.slice(5)).toEqual(['line', 'status'])
  await expect(part(page, 'offline')).toBeHidden()
  readable = true

  await gate.reload(draw(event, { mode: 'closed' }))
  await expect.poll(async () => (await observer.line()).mode).toBe('closed')
  await pass()
  await expect(page.getByRole('heading', { name: 'Closed for now' })).toBeVisible({ timeout: 40_000 })
})

test('a draw with a beacon waits for its value', async ({ serve, page }) => {
  const relay = createServer(({ url }, response) => response.end(JSON.stringify({ round: Number(url?.split('/').at(-1)), signature: '00ff' })))
  await new Promise<void>((listening) => relay.listen(0, '127.0.0.1', listening))
  const { port } = relay.address() as AddressInfo
  const event = { ...eventIn(8), order: 'draw', beacon: 'drand-quicknet', key: 's1', salt: 'b7f3a1' }
  const gate = await serve(queue({ ...quick, quota: 0, events: [event] }), [...saleKeys, '--beacon-url', `http://127.0.0.1:${port}`])
  const asked: string[] = []
  page.on('requestfinished', (request) => {
    const name = /\/_vestibule\/(status|line)\?/.exec(request.url())?.[1]
    if (name) asked.push(name)
  })
  await page.route('**/_vestibule/line?*', (route) => route.continue())
  const observer = new Visitor(gate)
  try {
    await page.clock.install()
    await page.goto(gate.at('shop.localhost', '/'))
    await expect.poll(async () => (await observer.line()).phase, { timeout: 20_000 }).toBe('draw')
    expect((await observer.line()).event.drawn_at).toBeNull()
    await page.clock.fastForward(31_000)
    await expect(page.getByRole('heading', { name: 'Assigning positions' })).toBeVisible()
    await expect(part(page, 'countdown-row')).toBeHidden()
    await expect.poll(() => asked).toEqual(['line'])
    await expect.poll(async () => (await observer.line()).event.drawn_at, { timeout: 40_000 }).not.toBeNull()
    await page.clock.fastForward(21_000)
    await expect.poll(() => asked).toEqual(['line', 'line', 'status'])
    await expect(part(page, 'number')).toHaveText(/^Your number in the draw: 0\.\d{6}$/)
    await expect(part(page, 'countdown-label')).toHaveText('Admissions begin in')
  } finally {
    relay.close()
  }
})

test('a lobby page asks for its status once the line is open without a draw', async ({ serve, page }) => {
  const gate = await serve(draw(eventIn(20)), saleKeys)
  // As after the end of an event whose beacon was never recorded.
  const observer = new Visitor(gate)
  await page.route('**/_vestibule/line?*', async (route) => route.fulfill({ json: { ...(await observer.line()), mode: 'open' } }))
  await page.goto(gate.at('shop.localhost', '/'))
  await page.waitForRequest('**/_vestibule/line?*', { timeout: 20_000 })
  await page.waitForRequest(STATUS, { timeout: 2000 })
})

test('blocked cookies are explained in the lobby', async ({ serve, page }) => {
  const gate = await serve(draw(eventIn(900)), saleKeys)
  const filter = await filterCookies(gate)
  try {
    await page.goto(filter.at('shop.localhost', '/'))
    await expect(part(page, 'cookies-blocked')).toBeVisible({ timeout: 15_000 })
    await expect(page.getByRole('status')).toContainText('Allow cookies')
  } finally {
    await filter.close()
  }
})

test('without JavaScript the page leads to a position', async ({ serve, browser }) => {
  const gate = await serve(draw(eventIn(8), { quota: 0 }), saleKeys)
  const page = await (await browser.newContext({ javaScriptEnabled: false })).newPage()
  await page.goto(gate.at('shop.localhost', '/'))
  await expect(page.getByRole('heading', { name: /^Start of Spring sale: \d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)? UTC$/ })).toBeVisible()
  await expect(part(page, 'countdown')).toHaveText('less than a minute')
  const link = page.getByRole('link', { name: 'How is this fair?' })
  const [published] = await Promise.all([page.context().waitForEvent('page'), link.click()])
  await expect(published.locator('body')).toContainText(commitmentOf(secretOf(QUEUE, 'sale', 'b7f3a1')))
  await published.close()
  await expect(part(page, 'position')).toHaveText('1', { timeout: 40_000 })
  await expect(part(page, 'number')).toHaveText(/0\.\d{6}$/)
  await page.context().close()
})

for (const [locale, lobby, drawing, number] of [
  ['de-DE', 'Alle, die hier warten, erhalten zum Beginn eine zufällige Position.', 'Positionen werden verlost', 'Ihre Nummer in der Verlosung: '],
  ['ar', 'كل من هو هنا عند البداية يحصل على ترتيب عشوائي.', 'جارٍ تحديد الترتيب', 'رقمك في القرعة: '],
] as const) {
  test(`lobby and draw speak the visitor’s language: ${locale}`, async ({ serve, browser }) => {
    const gate = await serve(draw(eventIn(8), { quota: 0 }), saleKeys)
    const page = await (await browser.newContext({ locale, reducedMotion: 'reduce' })).newPage()
    await page.goto(gate.at('shop.localhost', '/'))
    await expect(page.getByText(lobby)).toBeVisible()
    await expectAccessible(page, 'lobby')
    await expect(page.getByRole('heading', { name: drawing })).toBeVisible({ timeout: 20_000 })
    await expect(part(page, 'number')).toHaveText(new RegExp(`^${number}\u2068?0\\.\\d{6}\u2069?$`))
    await expectAccessible(page, 'draw')
    await page.context().close()
  })
}
