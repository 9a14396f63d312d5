import { resolve } from 'node:path'

import type { Locator, Page } from '@playwright/test'

import { expectAccessible } from './axe.ts'
import { expect, OPERATOR, signIn, test, type Backoffice } from './backoffice.ts'

const pictures = resolve(import.meta.dirname, 'results/pictures')
const fromNow = (seconds: number): string => `${new Date(Date.now() + seconds * 1000).toISOString().slice(0, 19)}Z`
const row = (page: Page, name: string): Locator => page.locator('.event').filter({ has: page.getByRole('link', { name, exact: true }) })
const names = (page: Page): Locator => page.locator('.event .name')

/** The day after tomorrow. */
const LATER = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10)

/** Checks the page at the width of a desktop and of a narrow phone. */
async function check(page: Page, name: string): Promise<void> {
  for (const width of [360, 1280]) {
    await page.setViewportSize({ width, height: 900 })
    await expectAccessible(page, `${name}, ${width} pixels wide`)
    const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
    expect.soft(over, `${name} is wider than ${width} pixels`).toBeLessThanOrEqual(0)
    await page.screenshot({ path: `${pictures}/${name}-${width}.png`, fullPage: true })
  }
}

/** Queues of two tenants with past, current and later events. */
async function schedule({ api, site }: Backoffice): Promise<void> {
  const event = { order: 'arrival' as const, suspended: false }
  const handover = { kind: 'check' as const, origin: site }
  await api.tenant('acme', 'Acme Live')
  await api.tenant('coral', 'Coral Sound')
  await api.queue({
    id: 'acme-tour', name: 'World tour', mode: 'scheduled', handover,
    events: [
      { ...event, id: 'presale', name: 'Presale', lobby_at: fromNow(-180_600), starts_at: fromNow(-180_000), ends_at: fromNow(-170_000) },
      { ...event, id: 'spring-sale', name: 'Spring sale', lobby_at: fromNow(-1200), starts_at: fromNow(-600), ends_at: fromNow(7200) },
    ],
  })
  await api.queue({ id: 'acme-club', name: 'Club night', mode: 'scheduled', handover, events: [{ ...event, id: 'club', order: 'draw', lobby_at: fromNow(-300), starts_at: fromNow(1200), ends_at: fromNow(9000) }] })
  await api.queue({ id: 'coral-night', name: 'Night', tenant: 'coral', mode: 'scheduled', events: [{ ...event, id: 'night', name: 'Night sale', starts_at: `${LATER}T20:00:00Z`, ends_at: `${LATER}T22:00:00Z` }] })
}

test('the calendar shows the events of all queues', async ({ page, backoffice }) => {
  await schedule(backoffice)
  await signIn(page, backoffice)
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Calendar' }).click()

  await test.step('current events come first, with phase and countdown', async () => {
    await expect(names(page)).toHaveText(['Spring sale', 'Club night', 'Night sale'])
    await expect(row(page, 'Spring sale')).toContainText(/Running.*Ends in 1\sh\s5\d\smin/)
    await expect(row(page, 'Club night')).toContainText(/Lobby open.*Starts in \d+\smin/)
    await expect(row(page, 'Night sale')).toContainText(/20:00 – 22:00.*Upcoming.*Starts in [12]\sd/)
    await expect(row(page, 'Club night')).toContainText('Same site at the same time: Spring sale')
  })

  await test.step('the page is accessible, light and dark', async () => {
    await page.getByText('Past events (1)').click()
    await expect(names(page)).toHaveCount(4)
    await check(page, 'calendar')
    await page.emulateMedia({ colorScheme: 'dark' })
    await check(page, 'calendar-dark')
    await page.emulateMedia({ colorScheme: 'light' })
  })

  await test.step('a day is selected with the keyboard', async () => {
    if (!LATER.startsWith(new Date().toISOString().slice(0, 7))) await page.getByRole('button', { name: 'Next month' }).press('Enter')
    const words = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' }).format(Date.parse(LATER))
    const day = page.getByRole('button', { name: `${words}: 1 event` })
    await day.press('Enter')
    await expect(day).toHaveAttribute('aria-pressed', 'true')
    await expect(names(page)).toHaveText(['Night sale'])
    await check(page, 'calendar-day')
    await day.press('Space')
    await expect(names(page)).toHaveText(['Spring sale', 'Club night', 'Night sale', 'Presale'])
  })

  await test.step('times follow the chosen time zone', async () => {
    const zone = page.getByLabel('Time zone')
    await zone.selectOption('Asia/Tokyo')
    await expect(row(page, 'Night sale')).toContainText('05:00 – 07:00')
    await page.reload()
    await expect(zone).toHaveValue('Asia/Tokyo')
    await expect(row(page, 'Night sale')).toContainText('05:00 – 07:00')
    await zone.selectOption('UTC')
  })

  await test.step('a change elsewhere is shown', async () => {
    const [event] = (await backoffice.api.settings('coral-night')).events ?? []
    await backoffice.api.call('PATCH', '/queues/coral-night', { events: [{ ...event, suspended: true }] }, { 'if-match': '*' })
    await expect(row(page, 'Night sale')).toContainText('Suspended')
  })

  await test.step('an event opens in the form of its queue', async () => {
    await page.getByRole('link', { name: 'Edit event Spring sale' }).click()
    await expect(page.getByRole('dialog').getByLabel('Name', { exact: true })).toHaveValue('Spring sale')
    await expect(page).toHaveURL(`${backoffice.url}/queues/acme-tour/events`)
    await page.keyboard.press('Escape')
    await page.goBack()
    await expect(page.getByRole('heading', { level: 1, name: 'Calendar' })).toBeVisible()
  })

  await test.step('the events of one tenant are shown', async () => {
    await page.getByLabel('Tenant').selectOption('coral')
    await expect(names(page)).toHaveText(['Night sale'])
    await page.getByLabel('Tenant').selectOption({ index: 0 })
  })

  await test.step('a past event links to its report', async () => {
    await page.getByText('Past events (1)').click()
    await page.getByRole('link', { name: 'Report: Presale' }).click()
    await expect(page).toHaveURL(`${backoffice.url}/queues/acme-tour/events/presale/report`)
  })
})

test('operators see the events of their tenants in their language', async ({ page, backoffice }) => {
  await schedule(backoffice)
  await backoffice.api.operator(OPERATOR, 'operator')
  await signIn(page, backoffice, OPERATOR, '/calendar')
  await expect(names(page)).toHaveText(['Spring sale', 'Club night'])
  await page.getByRole('button', { name: 'Account' }).click()
  await page.getByRole('menuitemradio', { name: 'Deutsch' }).click()
  await page.keyboard.press('Escape')
  await expect(page.getByRole('heading', { level: 1, name: 'Kalender' })).toBeVisible()
  await expect(row(page, 'Spring sale')).toContainText(/Läuft.*Endet in 1\sh\s5\d\smin/)
  await check(page, 'calendar-german')
})
