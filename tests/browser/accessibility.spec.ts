import type { BrowserContext, BrowserContextOptions, Page } from '@playwright/test'

import { expectAccessible } from './axe.ts'
import { filterCookies } from './cookie-filter.ts'
import { pollNow, brands, activeVisitor, part, queue, Visitor } from './queue.ts'
import { expect, test } from './server.ts'

const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }
const desktop = { viewport: { width: 1280, height: 800 } }
/** Each width and each color scheme once: no style depends on both. */
const looks: Record<string, BrowserContextOptions> = {
  'phone, light': { ...phone, colorScheme: 'light' },
  'desktop, dark': { ...desktop, colorScheme: 'dark' },
}
const colors = { yellow: '#ffe600', black: '#0b0b0c', red: '#d40000', white: '#ffffff' }

/** Overrides the visitor status and blocks navigation to the site. */
async function showStatus(page: Page, change: Record<string, unknown>): Promise<void> {
  await page.evaluate((change) => {
    const own = window.fetch
    window.fetch = async (...given) => Response.json({ ...(await (await own(...given)).json()), ...change })
  }, change)
  await pollNow(page)
  await page.route('**/*', (route) =>
    route.request().isNavigationRequest() ? route.fulfill({ status: 204 }) : route.fallback(),
  )
}

/** The turn comes while the tab is hidden. */
async function admitHidden(page: Page, expires_in: number): Promise<void> {
  await page.evaluate((expires_in) => {
    Object.defineProperty(document, 'visibilityState', { get: () => 'hidden' })
    window.fetch = async () => Response.json({ state: 'admitted', session: null, position: null, poll_after: 2, expires_in })
  }, expires_in)
  await pollNow(page)
}

const wait = { p50: 240, p90: 360 }

/** Checks the page of a waiting visitor, then of the admitted visitor, in a tab of its own: an admitted page goes to the site by itself. */
async function waitingAndAdmitted(context: BrowserContext, address: string, look: string): Promise<void> {
  const page = await context.newPage()
  await page.goto(address)
  await showStatus(page, { wait_seconds: wait })
  await expect(part(page, 'wait')).toHaveText('about 4 to 6 minutes')
  await expectAccessible(page, `${look}, waiting`)
  await page.evaluate(() => {
    window.fetch = async () => Response.json({ state: 'admitted', session: null, position: null, poll_after: 2 })
  })
  await pollNow(page)
  await expect(page.getByRole('link', { name: /^Continue to/ })).toBeVisible()
  await expectAccessible(page, `${look}, admitted`)
  await page.close()
}

for (const [look, options] of Object.entries(looks)) {
  test(`brand colors are accessible: ${look}`, async ({ serve, browser }) => {
    const tenants = Object.entries(colors).map(([id, color]) => [id, { name: 'Acme Live', color }])
    const gate = await serve(brands(Object.fromEntries(tenants), { quota: 0 }))
    const context = await browser.newContext({ ...options, reducedMotion: 'reduce' })
    for (const brand of Object.keys(colors)) await waitingAndAdmitted(context, gate.at(`${brand}.localhost`, '/'), brand)
    await context.close()
  })
}

for (const [look, options] of Object.entries(looks)) {
  test(`all pages are accessible: ${look}`, async ({ serve, browser }) => {
    const closed = { closed: { name: 'Acme' } }
    const gate = await serve(
      (shop) => `${brands({ acme: { name: 'Acme' } }, { quota: 0 })(shop)}\n${brands(closed, { mode: 'closed' })(shop)}`,
    )
    const context = await browser.newContext({ ...options, reducedMotion: 'reduce' })
    await waitingAndAdmitted(context, gate.at('acme.localhost', '/'), look)
    const page = await context.newPage()
    await page.goto(gate.at('closed.localhost', '/'))
    await expectAccessible(page, 'closed')
    await page.goto(gate.at('nobody.localhost', '/'))
    await expectAccessible(page, 'no queue')

    for (const [state, heading] of [
      ['paused', 'The line is paused'],
      ['unavailable', 'Reconnecting'],
    ] as const) {
      await page.goto(gate.at('acme.localhost', '/'))
      await showStatus(page, { state })
      await expect(page.getByRole('heading', { name: heading })).toBeVisible()
      await expectAccessible(page, state)
      await page.unrouteAll()
    }

    for (const [expires_in, text, where] of [
      [600, /^Your turn is reserved until /, 'turn in a hidden tab'],
      [0, /^You did not continue in time\./, 'turn has passed'],
    ] as const) {
      await page.goto(gate.at('acme.localhost', '/'))
      await admitHidden(page, expires_in)
      await expect(part(page, 'lead')).toHaveText(text)
      await expectAccessible(page, where)
    }

    await page.goto(gate.at('acme.localhost', '/'))
    await context.setOffline(true)
    await pollNow(page)
    await expect(part(page, 'offline')).toBeVisible()
    await expectAccessible(page, 'connection lost')
    await context.setOffline(false)

    const filter = await filterCookies(gate)
    await page.addInitScript(() => Object.defineProperty(navigator, 'cookieEnabled', { get: () => false }))
    await page.goto(filter.at('acme.localhost', '/'))
    await pollNow(page)
    await expect(part(page, 'cookies-blocked')).toBeVisible()
    await expectAccessible(page, 'cookies off')
    await filter.close()
    await context.close()
  })
}

test('pages without a position are accessible, also from right to left', async ({ serve, browser }) => {
  const gate = await serve((shop) =>
    [
      brands({ acme: { name: 'Acme' } }, { quota: 0 })(shop),
      brands({ full: { name: 'Acme' } }, { quota: 0, max_waiting: 1 })(shop),
      brands({ invited: { name: 'Acme' } }, { quota: 0, access: 'invited' })(shop),
    ].join('\n'),
  )
  const first = await browser.newContext()
  await (await first.newPage()).goto(gate.at('full.localhost', '/'))
  for (const [locale, dir] of [
    ['en', 'ltr'],
    ['ar', 'rtl'],
  ] as const) {
    const context = await browser.newContext({ ...phone, locale, reducedMotion: 'reduce' })
    const page = await context.newPage()
    for (const brand of ['full', 'invited']) {
      await page.goto(gate.at(`${brand}.localhost`, '/'))
      await expect(page.locator('html')).toHaveAttribute('dir', dir)
      await expect(part(page, 'position')).toBeHidden()
      await expectAccessible(page, `${brand}, ${locale}`)
    }
    await page.goto(gate.at('acme.localhost', '/'))
    await admitHidden(page, 600)
    await expect(part(page, 'enter-link')).toBeVisible()
    await expectAccessible(page, `turn in a hidden tab, ${locale}`)
    await context.close()
  }
  await first.close()
})

test('pages about rejected joins are accessible', async ({ serve, browser }) => {
  const reject = { pre_ticket_from: 'none', mode: 'enforce', on_exceed: 'reject' }
  const queues = {
    blocked: { ...reject, networks: { '"198.51.1.0/24"': 'blocked' } },
    limit: { ...reject, per_address: 1 },
  }
  const settings = Object.entries(queues).map(([id, protection]) => brands({ [id]: { name: 'Acme' } }, { quota: 0, protection }))
  const gate = await serve((shop) => settings.map((of) => of(shop)).join('\n'), ['--trusted-proxies', '1'])
  // Limits by address apply from 20 joins on.
  for (let network = 1; network <= 20; network += 1) {
    const other = await browser.newContext({ extraHTTPHeaders: { 'X-Forwarded-For': `198.51.${network}.1` } })
    await (await other.newPage()).goto(gate.at('limit.localhost', '/'))
    await other.close()
  }
  const context = await browser.newContext({ extraHTTPHeaders: { 'X-Forwarded-For': '198.51.1.1' } })
  const page = await context.newPage()
  for (const id of Object.keys(queues)) {
    const response = await page.goto(gate.at(`${id}.localhost`, '/'))
    expect(response?.status(), id).toBe(429)
    await expectAccessible(page, id)
  }
  await context.close()
})

test('the live region announces admission at once', async ({ serve, page }) => {
  const gate = await serve(queue())
  const active = await activeVisitor(gate)
  await page.goto(gate.at('shop.localhost', '/'))
  await expect(page.getByRole('status')).toBeEmpty()
  await expect(page.getByRole('status')).toHaveAttribute('aria-live', 'polite')
  await active.leave()
  await expect(page.getByRole('status')).toHaveText('It’s your turn. We’re taking you to Acme now.')
})

test('the live region announces progress once a minute', async ({ serve, page }) => {
  const gate = await serve(queue())
  await activeVisitor(gate)
  const older = [new Visitor(gate), new Visitor(gate)]
  for (const visitor of older) await visitor.arrive()
  await page.goto(gate.at('shop.localhost', '/'))
  await older[0]?.leave()
  await expect(part(page, 'position')).toHaveText('2')
  await expect(page.getByRole('status')).toBeEmpty()
  await page.evaluate(() => {
    const now = Date.now
    Date.now = () => now() + 61_000
  })
  await older[1]?.leave()
  await expect(page.getByRole('status')).toHaveText(/^Your position: 1\./)
})

test('reduced motion disables animations', async ({ serve, browser }) => {
  const gate = await serve(queue({ quota: 0 }))
  const motions = () => document.getAnimations().length
  for (const [reducedMotion, least, most] of [['reduce', 0, 0], ['no-preference', 1, 99]] as const) {
    const context = await browser.newContext({ reducedMotion })
    const page = await context.newPage()
    await page.goto(gate.at('shop.localhost', '/'))
    const running = await page.evaluate(motions)
    expect(running, reducedMotion).toBeGreaterThanOrEqual(least)
    expect(running, reducedMotion).toBeLessThanOrEqual(most)
    await context.close()
  }
})

test('reduced motion disables the progress transition', async ({ serve, browser }) => {
  const gate = await serve(queue({ quota: 0 }))
  const context = await browser.newContext({ reducedMotion: 'reduce' })
  const page = await context.newPage()
  await page.goto(gate.at('shop.localhost', '/'))
  const bar = part(page, 'progress')
  const go = (to: number) => bar.evaluate((el: HTMLProgressElement, to) => Object.assign(el, { hidden: false, value: to }), to)
  await go(0)
  const box = await bar.boundingBox()
  if (!box) throw new Error('no bar')
  const end = { x: box.x + box.width * 0.9, y: box.y + box.height / 2, width: 4, height: 2 }
  const before = await page.screenshot({ clip: end })
  await go(1)
  expect((await page.screenshot({ clip: end })).equals(before)).toBe(false)
  await context.close()
})

/** Texts that overflow the window or overlap. */
function layoutProblems(): string[] {
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth
  const found = wide > 0 ? [`${wide} px wider than the window`] : []
  const shown = (el: Element) => el.checkVisibility({ visibilityProperty: true }) && !el.closest('.unseen')
  const texts = [...document.querySelectorAll('h1,h2,p:not(:has(*)),dt,dd,li,.button,code,.brand')].filter(shown)
  const boxes = texts.map((el) => ({ el, box: el.getBoundingClientRect() })).filter(({ box }) => box.width > 0)
  for (const { el, box } of boxes) {
    if (box.left < -0.5 || box.right > innerWidth + 0.5) found.push(`overflows: ${el.textContent}`)
    for (const other of boxes) {
      if (el === other.el || el.contains(other.el) || other.el.contains(el)) continue
      const across = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left)
      const down = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top)
      if (across > 1 && down > 1) found.push(`overlap: ${el.textContent} / ${other.el.textContent}`)
    }
  }
  return found
}

/** Headings of all states that do not fit with text of this size. */
function wideHeadings(size: string): string[] {
  document.documentElement.style.fontSize = size
  const heading = document.querySelector('h1') as HTMLElement
  const data = JSON.parse(document.getElementById('vestibule-data')?.textContent ?? '') as { texts: { heading: Record<string, string> } }
  return Object.values(data.texts.heading).filter((text) => {
    heading.textContent = text
    return heading.scrollWidth > heading.clientWidth
  })
}

const directions = {
  ltr: ['en', 'de', 'fr', 'es', 'nl', 'cy', 'pt', 'it', 'pl', 'tr', 'ja', 'ko', 'zh-CN', 'zh-TW'],
  rtl: ['ar', 'en', 'de'],
}

for (const [dir, locales] of Object.entries(directions)) {
  test(`nothing overflows or overlaps at 320 pixels: ${dir}`, async ({
    serve,
    browser,
  }) => {
    const name = 'Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenverordnung – World Tour 2027'
    const gate = await serve(queue({ name, quota: 0 }, { tenant: { name: 'Northern Lights Entertainment Worldwide' } }))
    for (const locale of locales) {
      const context = await browser.newContext({ locale, viewport: { width: 320, height: 480 } })
      const page = await context.newPage()
      await page.goto(gate.at('shop.localhost', '/'))
      await page.evaluate((dir) => (document.documentElement.dir = dir), dir)
      await showStatus(page, { wait_seconds: { p50: 2400, p90: 4700 }, waiting: 1_234_567, state: 'waiting' })
      await expect(part(page, 'wait-row')).toBeVisible()
      expect(await page.evaluate(layoutProblems), locale).toEqual([])
      // Seven digits fit as well, and so does text of twice the size.
      await page.evaluate(() => {
        for (const el of document.querySelectorAll<HTMLElement>('[data-vestibule="position"]')) {
          el.dataset.digits = '9'
          el.textContent = '1,234,567'
        }
      })
      expect(await page.evaluate(layoutProblems), `${locale}, a million`).toEqual([])
      for (const size of ['100%', '200%']) expect(await page.evaluate(wideHeadings, size), `${locale}, ${size}`).toEqual([])
      await context.close()
    }
  })
}

test('nothing overflows or overlaps at double text size', async ({ serve, browser }) => {
  const gate = await serve(queue({ quota: 0 }))
  const context = await browser.newContext({ viewport: { width: 640, height: 800 } })
  const page = await context.newPage()
  await page.goto(gate.at('shop.localhost', '/'))
  await page.evaluate(() => (document.documentElement.style.fontSize = '200%'))
  expect(await page.evaluate(layoutProblems)).toEqual([])
  await context.close()
})

test('the page works by keyboard with visible focus', async ({ serve, page }) => {
  const gate = await serve(queue({ quota: 0 }))
  await page.goto(gate.at('shop.localhost', '/'))
  await expect(page.getByRole('button', { name: 'Leave the line' })).toBeVisible()
  for (const name of ['Notify me when it’s my turn', 'Leave the line']) {
    const button = page.getByRole('button', { name })
    await page.keyboard.press('Tab')
    await expect(button).toBeFocused()
    expect(await button.evaluate((el) => parseFloat(getComputedStyle(el).outlineWidth))).toBeGreaterThan(2)
  }
})

test('a phone on its side shows the position without scrolling', async ({ serve, browser }) => {
  const gate = await serve(brands({ acme: { name: 'Acme Live' } }, { quota: 0 }))
  const landscape = { ...phone, viewport: { width: 844, height: 390 } }
  const page = await (await browser.newContext(landscape)).newPage()
  await page.goto(gate.at('acme.localhost', '/'))
  await expect(part(page, 'position')).toBeInViewport({ ratio: 1 })
  await page.context().close()
})
