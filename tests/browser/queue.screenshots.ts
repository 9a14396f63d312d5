import { mkdirSync } from 'node:fs'

import type { BrowserContextOptions } from '@playwright/test'

import { pollNow, part, queue } from './queue.ts'
import { expect, test } from './server.ts'

const folder = new URL('../../docs/images/', import.meta.url)
const phone = { viewport: { width: 390, height: 844 }, isMobile: true, deviceScaleFactor: 1.5 }
const desktop = { viewport: { width: 1280, height: 900 }, deviceScaleFactor: 1 }
const waiting = { state: 'waiting', position: 1284, waiting: 5678, wait_seconds: { p50: 240, p90: 360 } }
const admitted = { ...waiting, state: 'admitted', position: null }
const event = {
  ...{ id: 'sale', name: 'General sale', phase: 'lobby', order: 'draw', starts_at: 1804154400, ends_at: 1804168800 },
  ...{ starts_in: 872, draw_ends_in: 902, number: null },
}
const lobby = { state: 'lobby', position: null, waiting: null, wait_seconds: null, expires_in: null, event }
// A visitor who waits has a short support code.
const codeOf = (state: unknown) => (state === 'waiting' ? '5M7N-EYEJ' : '0NPWV1-MDQB2X-KF3Y0T-5DWZQ')

/** For each picture: the browser, what the visitor status says, and the part of the page that then appears. */
const screenshots: Record<string, [look: BrowserContextOptions, status: Record<string, unknown>, ready: string]> = {
  'queue-phone-light': [{ ...phone, colorScheme: 'light' }, waiting, 'wait-row'],
  'queue-phone-dark': [{ ...phone, colorScheme: 'dark' }, waiting, 'wait-row'],
  'queue-desktop-light': [{ ...desktop, colorScheme: 'light' }, waiting, 'wait-row'],
  'queue-desktop-dark': [{ ...desktop, colorScheme: 'dark' }, waiting, 'wait-row'],
  'admitted-phone-light': [{ ...phone, colorScheme: 'light' }, admitted, 'enter'],
  'lobby-phone-light': [{ ...phone, colorScheme: 'light' }, lobby, 'countdown-row'],
}

for (const [name, [look, status, ready]] of Object.entries(screenshots)) {
  test(name, async ({ serve, browser }) => {
    const tenant = { name: 'Northern Lights', color: '#5b3fd6' }
    const gate = await serve(queue({ name: 'World Tour 2027', hosts: ['*'], quota: 0 }, { tenant }))
    const context = await browser.newContext({ ...look, locale: 'en-GB', reducedMotion: 'reduce' })
    const page = await context.newPage()
    // Rendered for a visitor at position 3,510. Navigation is blocked until the screenshot.
    let drawn = false
    await page.route('**/*', async (route) => {
      if (!route.request().isNavigationRequest()) return route.fallback()
      if (drawn) return route.fulfill({ status: 204 })
      drawn = true
      const response = await route.fetch()
      const body = (await response.text()).replace('"position":1,', '"position":3510,')
      return route.fulfill({ response, body })
    })
    await page.goto(`http://${gate.address}/`)
    await page.evaluate((status) => {
      const own = window.fetch
      window.fetch = async (...given) => Response.json({ ...(await (await own(...given)).json()), ...status })
    }, status)
    await pollNow(page)
    await expect(part(page, ready)).toBeVisible()
    await page.evaluate((code) => {
      const shown = document.querySelector('.foot code')
      if (shown) shown.textContent = code
    }, codeOf(status.state))
    mkdirSync(folder, { recursive: true })
    await page.screenshot({ path: new URL(`${name}.png`, folder).pathname, fullPage: true })
    await context.close()
  })
}
