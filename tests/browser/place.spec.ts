import type { Page } from '@playwright/test'

import { answerWith, arrivals, askNow, occupant, part, questions, queue } from './queue.ts'
import { expect, test } from './server.ts'

const code = (page: Page) => page.getByText('Support code').locator('code').innerText()

test('reloading keeps the place, however often', async ({ serve, page }) => {
  const gate = await serve(queue())
  const inside = await occupant(gate)
  await page.goto(gate.at('shop.localhost', '/'))
  const session = await code(page)
  const [younger] = await arrivals(gate, 1)
  for (let time = 0; time < 3; time++) {
    await page.reload()
    await expect(part(page, 'position')).toHaveText('1')
    expect(await code(page)).toBe(session)
  }
  const asked = questions(page)
  await expect.poll(() => asked.length).toBeGreaterThan(0)
  await expect.poll(async () => (await younger?.standing())?.waiting).toBe(2)
  await inside.leave()
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
  expect(await younger?.standing()).toMatchObject({ state: 'waiting' })
})

test('a tab that was closed comes back at its place when it is opened again', async ({ serve, context }) => {
  const gate = await serve(queue())
  await occupant(gate)
  const page = await context.newPage()
  await page.goto(gate.at('shop.localhost', '/'))
  const session = await code(page)
  const [younger] = await arrivals(gate, 1)
  expect(await younger?.standing()).toMatchObject({ position: 2 })

  await page.close({ runBeforeUnload: true })
  // The absent block nobody: the beacon of the closed page took them out of the line.
  await expect.poll(async () => (await younger?.standing())?.waiting).toBe(1)

  const again = await context.newPage()
  await again.goto(gate.at('shop.localhost', '/'))
  await expect(part(again, 'position')).toHaveText('1')
  expect(await code(again)).toBe(session)
  await expect.poll(async () => (await younger?.standing())?.waiting).toBe(2)
})

test('a second tab shows the same visit at the same place, and closing it costs nothing', async ({ serve, context }) => {
  const gate = await serve(queue())
  await occupant(gate)
  await arrivals(gate, 1)
  const first = await context.newPage()
  await first.goto(gate.at('shop.localhost', '/'))
  const second = await context.newPage()
  await second.goto(gate.at('shop.localhost', '/other'))
  for (const page of [first, second]) await expect(part(page, 'position')).toHaveText('2')
  expect(await code(second)).toBe(await code(first))
  await expect(part(second, 'behind')).toHaveText('nobody yet')

  await second.close({ runBeforeUnload: true })
  const asked = questions(first)
  await expect.poll(() => asked.length).toBeGreaterThan(1)
  await expect(part(first, 'position')).toHaveText('2')
})

test('the position never rises for one who stays, even when somebody older comes back', async ({ serve, page }) => {
  const gate = await serve(queue())
  const inside = await occupant(gate)
  const [older] = await arrivals(gate, 1)
  await page.goto(gate.at('shop.localhost', '/'))
  await expect(part(page, 'position')).toHaveText('2')
  await older?.away()
  await expect(part(page, 'position')).toHaveText('1')

  expect(await older?.standing()).toMatchObject({ position: 1, waiting: 2 })
  const seen = new Set<string>()
  const asked = questions(page)
  await expect
    .poll(async () => {
      seen.add(await part(page, 'position').innerText())
      return asked.length
    })
    .toBeGreaterThan(2)
  await page.reload()
  seen.add(await part(page, 'position').innerText())
  expect([...seen]).toEqual(['1'])

  // The order holds all the same.
  await inside.leave()
  await expect.poll(async () => (await older?.standing())?.state).toBe('admitted')
  await expect(part(page, 'position')).toHaveText('1')
})

test('a page that comes back from the back/forward cache asks again at once', async ({ serve, page }) => {
  const gate = await serve(queue())
  await occupant(gate)
  const [older] = await arrivals(gate, 1)
  await answerWith(page, { poll_after: 300 })
  await page.goto(gate.at('shop.localhost', '/'))
  const asked = questions(page)
  await expect.poll(() => asked.length).toBe(1)
  await older?.leave()
  await expect(part(page, 'position')).toHaveText('2')
  await askNow(page)
  await expect(part(page, 'position')).toHaveText('1')
})

test('the back button returns to the line at the same place, with fresh numbers', async ({ serve, page }) => {
  const gate = await serve(queue())
  await occupant(gate)
  const [older] = await arrivals(gate, 1)
  await page.goto(gate.at('shop.localhost', '/a'))
  await expect(part(page, 'position')).toHaveText('2')
  const session = await code(page)
  await page.goto('about:blank')
  await older?.leave()
  await page.goBack()
  await expect(part(page, 'position')).toHaveText('1')
  expect(await code(page)).toBe(session)
})

test('from the shop the back button leads to the page before the line, not into a loop', async ({ serve, page }) => {
  const gate = await serve(queue())
  const inside = await occupant(gate)
  await page.goto('data:text/html,<h1>A letter with a link</h1>')
  await page.goto(gate.at('shop.localhost', '/a'))
  await expect(part(page, 'position')).toHaveText('1')
  await inside.leave()
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
  await page.goBack()
  await expect(page.getByRole('heading', { name: 'A letter with a link' })).toBeVisible()
  await page.goForward()
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
})

test('one whose visit ended and who goes back to the line gets a new place there', async ({ serve, page }) => {
  const gate = await serve(queue())
  await page.goto(gate.at('shop.localhost', '/a'))
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
  const [waiting] = await arrivals(gate, 1)
  await page.evaluate(() => fetch('/_vestibule/leave?queue=acme-tour', { method: 'POST' }))
  expect(await waiting?.standing()).toMatchObject({ state: 'admitted' })
  await page.reload()
  await expect(part(page, 'position')).toHaveText('1')
})

test('a hidden tab, whose timers browsers slow down to one a minute, keeps asking and gets in after a while', async ({
  serve,
  page,
}) => {
  const gate = await serve(queue({ claim_ttl: 20 }))
  const inside = await occupant(gate)
  await page.addInitScript(() => {
    Object.defineProperty(Document.prototype, 'visibilityState', { get: () => 'hidden' })
    Object.defineProperty(Document.prototype, 'hidden', { get: () => true })
    const timer = window.setTimeout
    window.setTimeout = ((run: () => void, delay = 0, ...given: unknown[]) =>
      timer(run, Math.max(delay, 60_000), ...given)) as typeof setTimeout
  })
  const asked = questions(page)
  await page.goto(gate.at('shop.localhost', '/'))
  await expect.poll(() => asked.length).toBeGreaterThan(1)
  await inside.leave()
  await expect(page).toHaveTitle('● You’re in · Acme')
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible({ timeout: 15_000 })
})

test('a hidden tab holds the admission until the visitor looks', async ({ serve, page }) => {
  const gate = await serve(queue({ claim_ttl: 60, waiting_ttl: 60 }))
  const inside = await occupant(gate)
  await page.addInitScript(() => {
    const shown = { is: 'hidden' }
    Object.defineProperty(Document.prototype, 'visibilityState', { get: () => shown.is })
    Object.assign(window, {
      look() {
        shown.is = 'visible'
        document.dispatchEvent(new Event('visibilitychange'))
      },
    })
  })
  await page.goto(gate.at('shop.localhost', '/'))
  await inside.leave()
  await expect(page.getByRole('link', { name: 'Enter now' })).toBeVisible()
  await new Promise((passed) => setTimeout(passed, 3000))
  await expect(page.getByRole('link', { name: 'Enter now' })).toBeVisible()
  await page.evaluate(() => (window as unknown as { look(): void }).look())
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
})

test('one who asked for it is notified when it is their turn in a hidden tab', async ({ serve, page }) => {
  const gate = await serve(queue({ claim_ttl: 60, waiting_ttl: 60 }))
  const inside = await occupant(gate)
  await page.addInitScript(() => {
    const notices: string[] = []
    class Notice {
      static permission = 'default'
      static requestPermission = async () => (Notice.permission = 'granted')
      constructor(title: string) {
        notices.push(title)
      }
    }
    Object.assign(window, { Notification: Notice, notices })
  })
  await page.goto(gate.at('shop.localhost', '/'))
  await page.getByRole('button', { name: 'Notify me when it’s my turn' }).click()
  await expect(page.getByRole('status')).toHaveText('We’ll notify you when it’s your turn.')
  await expect(part(page, 'notify')).toBeHidden()
  await page.evaluate(() => Object.defineProperty(document, 'visibilityState', { get: () => 'hidden' }))
  await inside.leave()
  await expect.poll(() => page.evaluate(() => (window as unknown as { notices: string[] }).notices)).toEqual(['You’re in'])
})

test('one who leaves the line frees the position and may join again at the end', async ({ serve, page }) => {
  const gate = await serve(queue())
  await occupant(gate)
  await page.goto(gate.at('shop.localhost', '/a'))
  const [younger] = await arrivals(gate, 1)
  page.on('dialog', (dialog) => dialog.accept())
  await page.getByRole('button', { name: 'Leave the line' }).click()
  await expect(page.getByRole('heading', { name: 'You left the line' })).toBeVisible()
  await expect(part(page, 'position-section')).toBeHidden()
  expect(await younger?.standing()).toMatchObject({ position: 1, waiting: 1 })
  await page.getByRole('link', { name: 'Join again' }).click()
  await expect(part(page, 'position')).toHaveText('2')
})

test('without workers the page goes by its own timers', async ({ serve, page }) => {
  const gate = await serve(queue())
  const inside = await occupant(gate)
  await page.addInitScript(() => Reflect.deleteProperty(window, 'Worker'))
  await page.goto(gate.at('shop.localhost', '/'))
  await expect(part(page, 'position')).toHaveText('1')
  await inside.leave()
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
})

test('a worker that falls silent is made good for by the page', async ({ serve, page }) => {
  const gate = await serve(queue())
  await page.addInitScript(() => {
    window.Worker = class {
      postMessage() {}
    } as unknown as typeof Worker
  })
  const inside = await occupant(gate)
  await page.goto(gate.at('shop.localhost', '/'))
  await inside.leave()
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible({ timeout: 20_000 })
})

test('a place that the server no longer knows is taken anew, once, without a question to the visitor', async ({
  serve,
  page,
  context,
}) => {
  const gate = await serve(queue())
  await occupant(gate)
  await page.goto(gate.at('shop.localhost', '/'))
  const before = await code(page)
  await context.clearCookies()
  await expect.poll(() => code(page)).not.toBe(before)
  await expect(part(page, 'position-section')).toBeVisible()
  await expect(part(page, 'cookies-blocked')).toBeHidden()
  const asked = questions(page)
  await expect.poll(() => asked.length).toBeGreaterThan(1)
})
