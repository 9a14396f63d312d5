import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from '@playwright/test'

import { expect, signIn, test } from './backoffice.ts'
import { open, seed, PAGES } from './pages.ts'

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

for (const [scheme, width] of [['light', 1280], ['dark', 1280], ['light', 390]] as const) {
  test(`pages are accessible: ${scheme}, ${width} pixels wide`, async ({ page, backoffice }) => {
    test.slow()
    await seed(backoffice)
    await page.emulateMedia({ colorScheme: scheme })
    await page.setViewportSize({ width, height: 844 })
    await open(page, backoffice.url)
    await check(page, 'sign-in')
    await signIn(page, backoffice)
    for (const [name, path] of Object.entries(PAGES)) {
      await open(page, backoffice.url + path)
      await check(page, name)
      await fits(page, name)
    }
  })
}

test('dialogs and menus are accessible by keyboard', async ({ page, backoffice }) => {
  await seed(backoffice)
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

test('the German page is translated and accessible', async ({ page, backoffice }) => {
  await seed(backoffice)
  await signIn(page, backoffice)
  await page.getByRole('button', { name: 'Account' }).click()
  await page.getByRole('menuitemradio', { name: 'Deutsch' }).click()
  await page.keyboard.press('Escape')
  await expect(page.locator('html')).toHaveAttribute('lang', 'de')
  await expect(page.getByRole('heading', { level: 1, name: 'Übersicht' })).toBeVisible()
  await expect(page).toHaveTitle('Übersicht · Vestibule')
  await page.reload()
  await expect(page.getByRole('heading', { level: 1, name: 'Übersicht' })).toBeVisible()
  await check(page, 'overview in German')
})
