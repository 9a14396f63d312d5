import type { Page } from '@playwright/test'

import { expectAccessible } from './axe.ts'
import { addVisitors, activeVisitor, part, pollTimes, queue } from './queue.ts'
import { expect, test } from './redis.ts'
import { controlVisibility, hide, show, type Tab } from './visibility.ts'

const title = '● It’s your turn · Acme'

test('a turn in a hidden tab expires with its slot', async ({ redis, serve, page }) => {
  const gate = await serve(queue({ active_ttl: 6 }), ['--store', redis.url])
  const active = await activeVisitor(gate)
  await controlVisibility(page, 'hidden')
  await page.goto(gate.at('shop.localhost', '/a'))
  await expect(part(page, 'position')).toHaveText('1')
  const [younger] = await addVisitors(gate, 1)
  await active.leave()
  await expect(page).toHaveTitle(title)
  await expect(part(page, 'lead')).toHaveText(
    /^Your turn is reserved until \d+:\d\d:\d\d\. Continue before then, or it passes to the next visitor\.$/,
  )
  await expect(page.locator('link[rel=icon]')).toHaveAttribute('href', /1a7f37/)
  await expect(page.getByRole('link', { name: 'Continue to Acme' })).toBeVisible()

  const requests: string[] = []
  page.on('request', (request) => requests.push(request.url()))
  await expect.poll(async () => (await younger?.status())?.state, { timeout: 20_000 }).toBe('admitted')
  await expect(page.getByRole('heading', { name: 'Your turn has passed' })).toBeVisible()
  await expect(page).toHaveTitle('Your turn has passed · Acme')
  await expect(page.locator('link[rel=icon]')).not.toHaveAttribute('href', /1a7f37/)
  await show(page)
  expect(requests.filter((url) => !url.startsWith('data:'))).toEqual([])

  // The ticket of the expired slot is refused.
  await younger?.status()
  await page.getByRole('link', { name: 'Join the line again' }).click()
  await expect(page.getByText('You were away for too long')).toBeVisible()
  await expect(part(page, 'position')).toHaveText('1')
})

test('a turn in a hidden tab continues once it is shown', async ({ serve, page }) => {
  const gate = await serve(queue())
  const active = await activeVisitor(gate)
  await controlVisibility(page, 'hidden')
  // Browsers throttle the timers of hidden pages.
  await page.addInitScript(() => {
    const timer = window.setTimeout
    window.setTimeout = ((run: () => void, delay = 0, ...given: unknown[]) =>
      timer(run, Math.max(delay, 60_000), ...given)) as typeof setTimeout
  })
  const asked = pollTimes(page)
  await page.goto(gate.at('shop.localhost', '/a?b=1#c'))
  await expect.poll(() => asked.length).toBeGreaterThan(1)
  await active.leave()
  await expect(page).toHaveTitle(title)
  await expect(part(page, 'lead')).toHaveText(/^Your turn is reserved until \d+:\d\d\. /)
  await expect(page.getByRole('status')).toHaveText(/^It’s your turn\. Your turn is reserved until /)
  await show(page)
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
  expect(page.url()).toBe(gate.at('shop.localhost', '/a?b=1#c'))
})

test('a tab that is hidden again does not continue', async ({ serve, page }) => {
  const gate = await serve(queue({ active_ttl: 6 }))
  const active = await activeVisitor(gate)
  await controlVisibility(page, 'hidden')
  await page.goto(gate.at('shop.localhost', '/'))
  await active.leave()
  await expect(page).toHaveTitle(title)
  await page.evaluate(() => {
    const tab = window as unknown as Tab
    tab.showTab()
    tab.hideTab()
  })
  await expect(page.getByRole('heading', { name: 'Your turn has passed' })).toBeVisible({ timeout: 15_000 })
})

interface Alerts {
  asked: number
  notices: string[]
  tones: number[]
  vibrations: number
}

/** Records notifications, tones with their end, and vibrations. Permission is what the visitor answers. */
async function recordAlerts(page: Page, permission: string, fails: boolean): Promise<void> {
  await page.addInitScript(({ permission, fails }) => {
    const alerts: Alerts = { asked: 0, notices: [], tones: [], vibrations: 0 }
    class Notice {
      static permission = sessionStorage.getItem('permission') ?? 'default'
      static async requestPermission() {
        alerts.asked += 1
        sessionStorage.setItem('permission', permission)
        return (Notice.permission = permission)
      }
      constructor(title: string) {
        if (fails) throw new TypeError('Illegal constructor')
        alerts.notices.push(title)
      }
    }
    const stop = OscillatorNode.prototype.stop
    OscillatorNode.prototype.stop = function (this: OscillatorNode, when = 0) {
      alerts.tones.push(when - this.context.currentTime)
      stop.call(this, when)
    }
    navigator.vibrate = () => {
      alerts.vibrations += 1
      return true
    }
    Object.assign(window, { Notification: permission === 'absent' ? undefined : Notice, alerts })
    if (permission === 'absent') Reflect.deleteProperty(window, 'Notification')
  }, { permission, fails })
}

const alerts = (page: Page) => page.evaluate(() => (window as unknown as { alerts: Alerts }).alerts)
const on = 'When it’s your turn, this page shows a notification or plays a sound.'
const off = 'Notifications are not available here. When it’s your turn, this page plays a sound and changes its title.'

for (const [answer, permission, fails, text, notices] of [
  ['granted', 'granted', false, on, ['It’s your turn']],
  ['denied', 'denied', false, off, []],
  ['granted, but not supported', 'granted', true, on, []],
  ['absent', 'absent', false, off, []],
] as const) {
  test(`the visitor is alerted on request: ${answer}`, async ({ serve, page }) => {
    const gate = await serve(queue())
    const active = await activeVisitor(gate)
    await controlVisibility(page, 'visible')
    await recordAlerts(page, permission, fails)
    await page.goto(gate.at('shop.localhost', '/'))
    await expect(part(page, 'position')).toHaveText('1')
    expect((await alerts(page)).asked).toBe(0)

    const button = page.getByRole('button', { name: 'Notify me when it’s my turn' })
    await expect(button).toHaveAttribute('aria-pressed', 'false')
    await button.click()
    await expect(button).toHaveAttribute('aria-pressed', 'true')
    await expect(part(page, 'notify-state')).toHaveText(text)
    await expect(page.getByRole('status')).toHaveText(text)
    expect((await alerts(page)).asked).toBe(permission === 'absent' ? 0 : 1)
    await expectAccessible(page, `notifications ${answer}`)

    await hide(page)
    await active.leave()
    await expect(page).toHaveTitle(title)
    await expect.poll(async () => (await alerts(page)).tones.length).toBeGreaterThan(0)
    const { tones, vibrations, ...told } = await alerts(page)
    expect(told.notices).toEqual(notices)
    expect(vibrations).toBe(1)
    expect(Math.max(...tones)).toBeLessThan(1)
    await expectAccessible(page, `turn, notifications ${answer}`)
  })
}

test('notifications stay on after a reload and can be turned off', async ({ serve, page }) => {
  const gate = await serve(queue())
  const active = await activeVisitor(gate)
  await controlVisibility(page, 'visible')
  await recordAlerts(page, 'granted', false)
  await page.goto(gate.at('shop.localhost', '/'))
  const button = page.getByRole('button', { name: 'Notify me when it’s my turn' })
  await button.click()
  await expect(part(page, 'notify-state')).toHaveText(on)
  await page.reload()
  await expect(button).toHaveAttribute('aria-pressed', 'true')
  await expect(part(page, 'notify-state')).toHaveText(on)
  await button.click()
  await expect(button).toHaveAttribute('aria-pressed', 'false')
  await expect(part(page, 'notify-state')).toBeEmpty()
  expect((await alerts(page)).asked).toBe(0)
  await hide(page)
  await active.leave()
  await expect(page).toHaveTitle(title)
  expect(await alerts(page)).toMatchObject({ notices: [], tones: [], vibrations: 0 })
})
