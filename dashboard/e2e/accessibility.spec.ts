import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from '@playwright/test'

import { expect, signIn, test } from './backoffice.ts'
import { open, seed, waitUntilDrawn, PAGES } from './pages.ts'
import { watchPolicy } from './policy.ts'

const DESKTOP = { width: 1280, height: 844 }
const PHONE = { width: 390, height: 844 }
/** Pages that are opened on a phone as well; the others are narrowed to one. */
const OPENED_ON_PHONES = ['overview', 'queue']
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

async function check(page: Page, where: string): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).withTags(RULES).analyze()
  const found = violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary?.replaceAll('\n', ' ')}`))
  expect.soft(found, where).toEqual([])
}

/** Checks that the page does not scroll horizontally. */
async function fits(page: Page, where: string): Promise<void> {
  const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
  expect.soft(over, `${where} is wider than the screen`).toBeLessThanOrEqual(0)
}

/** Checks an open page on a desktop in both color schemes, and narrowed to a phone, where it stays. */
async function checkLooks(page: Page, where: string): Promise<void> {
  await check(page, `${where}, light`)
  await fits(page, where)
  await page.emulateMedia({ colorScheme: 'dark' })
  await check(page, `${where}, dark`)
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize(PHONE)
  await waitUntilDrawn(page)
  await check(page, `${where}, on a phone`)
  await fits(page, `${where}, on a phone`)
}

test('the sign-in page is accessible and has a security policy', async ({ page, backoffice }) => {
  const complaints = await watchPolicy(page, backoffice)
  const answer = page.waitForResponse(`${backoffice.url}/`)
  await page.setViewportSize(DESKTOP)
  await open(page, backoffice.url)
  expect((await answer).headers()['content-security-policy']).toContain("default-src 'none'")
  await checkLooks(page, 'sign-in')
  expect(complaints).toEqual([])
})

// In three parts, so that they run side by side.
for (const part of [0, 1, 2]) {
  const names = Object.keys(PAGES).filter((_, index) => index % 3 === part)
  test(`pages are accessible and follow the CSP: ${part + 1} of 3`, async ({ page, backoffice }) => {
    test.slow()
    await seed(backoffice)
    const complaints = await watchPolicy(page, backoffice)
    await signIn(page, backoffice)
    for (const name of names) {
      await page.setViewportSize(DESKTOP)
      await open(page, backoffice.url + PAGES[name])
      await checkLooks(page, name)
      if (!OPENED_ON_PHONES.includes(name)) continue
      await open(page, backoffice.url + PAGES[name])
      await check(page, `${name}, opened on a phone`)
      await fits(page, `${name}, opened on a phone`)
    }
    expect(complaints).toEqual([])
  })
}

test('dialogs and menus are accessible by keyboard', async ({ page, backoffice }) => {
  await seed(backoffice)
  const complaints = await watchPolicy(page, backoffice)
  await signIn(page, backoffice, undefined, '/queues/acme-tour')
  await page.getByRole('textbox', { name: 'Quota' }).fill('500')
  await page.keyboard.press('Enter')
  await check(page, 'a control')
  await page.keyboard.press('Escape')
  await expect(page.getByRole('dialog')).toBeHidden()
  // The focus returns to the field.
  await expect(page.getByRole('textbox', { name: 'Quota' })).toBeFocused()

  await page.getByRole('button', { name: 'More' }).press('Enter')
  await check(page, 'the menu')
  await page.keyboard.press('End')
  await page.keyboard.press('Enter')
  await expect(page.getByLabel('Type acme-tour to confirm')).toBeFocused()
  await check(page, 'a question')
  await page.keyboard.press('Escape')
  // The menu item is gone.
  await expect(page.getByRole('button', { name: 'More' })).toBeFocused()

  await page.getByRole('button', { name: 'Account' }).press('Enter')
  await check(page, 'the account menu')
  await page.keyboard.press('Escape')

  await page.getByRole('link', { name: 'Settings' }).press('Enter')
  await expect(page.getByRole('heading', { level: 1 })).toBeFocused()
  await page.getByLabel('Name', { exact: true }).fill('Grand tour')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('dialog', { name: 'Save these changes?' }).getByRole('button', { name: 'Save', exact: true })).toBeFocused()
  await check(page, 'the differences')
  expect(complaints).toEqual([])
})

test('a closed form returns the focus to the button that opened it', async ({ page, backoffice }) => {
  await seed(backoffice)
  await signIn(page, backoffice)
  const button = (name: string) => page.getByRole('button', { name, exact: true }).first()
  for (const [path, opener] of [['/tenants', 'Create a tenant'], ['/themes', 'Create a theme'], ['/job-queues/updates.fifo', 'Send a test job']] as const) {
    await page.goto(backoffice.url + path)
    await button(opener).press('Enter')
    await expect(page.getByRole('dialog')).toBeVisible()
    await page.keyboard.press('Escape')
    await expect(page.getByRole('dialog')).toBeHidden()
    await expect(button(opener)).toBeFocused()
  }
})

test('a phone shows all stats and scrolls the tabs', async ({ page, backoffice }) => {
  await seed(backoffice)
  await page.setViewportSize({ width: 360, height: 740 })
  await signIn(page, backoffice, undefined, '/queues/northern-winter')
  await expect(page.locator('dl.tiles > div')).toHaveCount(6)
  for (const tile of await page.locator('dl.tiles > div').all()) await expect(tile).toBeInViewport({ ratio: 1 })
  const tabs = page.getByRole('navigation', { name: 'Pages of this queue' })
  await expect(tabs.locator('.scroller')).toHaveClass(/after/)
  await tabs.getByRole('link', { name: 'Integration' }).focus()
  await expect(tabs.getByRole('link', { name: 'Integration' })).toBeInViewport({ ratio: 0.9 })
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(/\/integration$/)
  await expect(tabs.locator('.scroller')).toHaveClass(/before/)
})

test('the first Tab focuses the skip link', async ({ page, backoffice }) => {
  await signIn(page, backoffice)
  await page.reload()
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.keyboard.press('Tab')
  await expect(page.getByRole('link', { name: 'Skip to content' })).toBeFocused()
})
