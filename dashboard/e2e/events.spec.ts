import type { Locator, Page } from '@playwright/test'

import { addVisitors } from './visitors.ts'
import { expectAccessible } from './axe.ts'
import { expect, signIn, test, VIEWER } from './backoffice.ts'

const dialog = (page: Page): Locator => page.getByRole('dialog')
const card = (page: Page, id: string): Locator => page.locator('.event').filter({ has: page.getByText(id, { exact: true }) })
const seconds = (time: string): number => Date.parse(time) / 1000
const fromNow = (seconds: number): string => `${new Date(Date.now() + seconds * 1000).toISOString().slice(0, 19)}Z`

test('an event is created, repeated, postponed and started', async ({ page, backoffice }) => {
  await backoffice.api.tenant('acme', 'Acme')
  await backoffice.api.queue({ id: 'acme-tour', mode: 'scheduled' })
  const events = async () => (await backoffice.api.settings('acme-tour')).events ?? []
  const day = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10)
  await signIn(page, backoffice, undefined, '/queues/acme-tour/events')

  await test.step('wrong input shows the error at its field', async () => {
    await page.getByRole('button', { name: 'Add an event' }).click()
    await dialog(page).getByLabel('Time zone').selectOption('UTC')
    await dialog(page).getByLabel('ID', { exact: true }).fill('Spring Sale')
    await dialog(page).getByLabel('Start', { exact: true }).fill(`${day}T10:00`)
    await dialog(page).getByLabel('End', { exact: true }).fill(`${day}T12:00`)
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await expect(dialog(page).getByLabel('ID', { exact: true })).toHaveAttribute('aria-invalid', 'true')
    await expect(dialog(page).getByLabel('End', { exact: true })).not.toHaveAttribute('aria-invalid', 'true')
    await dialog(page).getByLabel('ID', { exact: true }).fill('spring-sale')
    await dialog(page).getByLabel('End', { exact: true }).fill(`${day}T09:00`)
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await expect(dialog(page).getByLabel('End', { exact: true })).toHaveAttribute('aria-invalid', 'true')
    await expect(dialog(page)).toContainText('60 seconds to 30 days after')
    await expect(dialog(page).getByLabel('ID', { exact: true })).not.toHaveAttribute('aria-invalid', 'true')
    await expectAccessible(page, 'the form of an event with an error')
    expect(await events()).toEqual([])
  })

  await test.step('an event is repeated weekly', async () => {
    await dialog(page).getByLabel('End', { exact: true }).fill(`${day}T12:00`)
    await dialog(page).getByLabel('Name', { exact: true }).fill('Spring sale')
    await dialog(page).getByLabel('Repeat weekly').fill('3')
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await expect(dialog(page)).toBeHidden()
    await expect(page.locator('.event')).toHaveCount(3)
    const created = await events()
    expect(created.map(({ id }) => id)).toEqual(['spring-sale', 'spring-sale-2', 'spring-sale-3'])
    expect(created[0]!.starts_at).toBe(`${day}T10:00:00Z`)
    expect(seconds(created[2]!.starts_at) - seconds(created[0]!.starts_at)).toBe(14 * 86_400)
    await expect(card(page, 'spring-sale')).toContainText('Upcoming')
  })

  await test.step('a postponed event keeps its length', async () => {
    await card(page, 'spring-sale').getByRole('button', { name: 'Postpone' }).click()
    await dialog(page).getByLabel('Postpone by').fill('25')
    await dialog(page).getByRole('button', { name: 'Postpone' }).click()
    await expect(dialog(page)).toBeHidden()
    const [first, second] = await events()
    expect([first!.starts_at, first!.ends_at]).toEqual([`${day}T10:25:00Z`, `${day}T12:25:00Z`])
    expect(second!.id).toBe('spring-sale-2')
  })

  await test.step('an event that starts in a minute keeps its length', async () => {
    await card(page, 'spring-sale').getByRole('button', { name: 'Start in 1 minute' }).click()
    const start = dialog(page).getByRole('button', { name: 'Start in 1 minute' })
    await start.click()
    // The lobby opens at once, of which the form warns first.
    await expect(dialog(page)).toContainText('30 more seconds')
    await start.click()
    await expect(dialog(page)).toBeHidden()
    await expect(card(page, 'spring-sale')).toContainText('Lobby open')
    const [first] = await events()
    expect(Math.abs(seconds(first!.starts_at) - Date.now() / 1000 - 60)).toBeLessThan(30)
    expect(seconds(first!.ends_at) - seconds(first!.starts_at)).toBe(7200)
  })
})

test('a running event is ended', async ({ page, backoffice }) => {
  await backoffice.api.tenant('acme', 'Acme')
  const event = { id: 'sale', lobby_at: fromNow(-300), starts_at: fromNow(-200), ends_at: fromNow(7200), order: 'arrival' as const, suspended: false }
  await backoffice.api.queue({ id: 'acme-tour', mode: 'scheduled', events: [event] })
  await signIn(page, backoffice, undefined, '/queues/acme-tour/events')
  await expect(card(page, 'sale')).toContainText('Running')
  await card(page, 'sale').getByRole('button', { name: 'End now' }).click()
  await dialog(page).getByRole('button', { name: 'End now' }).click()
  await expect(card(page, 'sale')).toContainText('Ending')
  const [ended] = (await backoffice.api.settings('acme-tour')).events ?? []
  expect(Math.abs(seconds(ended!.ends_at) - Date.now() / 1000)).toBeLessThan(30)
  expect(ended!.starts_at).toBe(event.starts_at)
})

test('viewers see the report and the marks of an event', async ({ page, backoffice }) => {
  const { api } = backoffice
  await api.tenant('acme', 'Acme')
  await api.queue({ id: 'acme-tour', name: 'World tour', quota: 2 })
  const created = Date.now()
  await api.operator(VIEWER, 'viewer')
  await addVisitors(backoffice, 'acme-tour', 3)
  // Times have whole seconds, and the lobby opens after the queue was created.
  await expect.poll(() => Date.now() - created).toBeGreaterThan(1000)
  const event = { id: 'sale', name: 'Spring sale', lobby_at: fromNow(0), starts_at: fromNow(120), ends_at: fromNow(7200), order: 'arrival' as const, suspended: false }
  const anyRevision = { 'if-match': '*' }
  await api.call('PATCH', '/queues/acme-tour', { mode: 'scheduled', events: [event] }, anyRevision)
  await addVisitors(backoffice, 'acme-tour', 5)
  await api.call('POST', '/queues/acme-tour/release', { count: 2 })
  await api.call('PATCH', '/queues/acme-tour/controls', { quota: 25 })
  await api.call('PATCH', '/queues/acme-tour/controls', { message: { default: 'Floor tickets are sold out.' } })
  // The history has a point per minute: the chart would have to wait for it.
  await page.route('**/api/v1/queues/acme-tour/history?*', (route) => {
    const at = (ago: number) => Math.floor(Date.now() / 1000) - ago
    return route.fulfill({ json: { step_seconds: 60, columns: [], points: [[at(240), 0, 0, 2, 0, 0], [at(120), 3, 2, 2, 5, 2], [at(60), 6, 2, 2, 3, 0]] } })
  })
  await signIn(page, backoffice, VIEWER, '/queues/acme-tour')

  await test.step('the chart marks phases and changes with their values', async () => {
    await page.getByText(/changes and phases$/).click()
    const marks = page.locator('details li')
    for (const text of ['Spring sale: Lobby open', 'ada: 2 visitors admitted', 'ada: Quota 2 → 25', 'ada: message.default – → Floor tickets are sold out.']) {
      await expect(marks.filter({ hasText: text })).toHaveCount(1)
    }
    await expect(page.locator('.change-mark[title$="ada: Quota 2 → 25"]')).toHaveCount(1)
    await expect(page.locator('.change-mark.phase')).toHaveCount(1)
  })

  await test.step('the report counts from the opening of the lobby', async () => {
    await page.getByRole('navigation', { name: 'Pages of this queue' }).getByRole('link', { name: 'Events' }).click()
    await card(page, 'sale').getByRole('link', { name: 'Report' }).click()
    await expect(page.getByRole('heading', { level: 2, name: 'Report: Spring sale' })).toBeVisible()
    const row = (name: string) => page.getByRole('row').filter({ has: page.getByRole('rowheader', { name }) }).getByRole('cell')
    await expect(row('Joined').first()).toHaveText('5')
    await expect(row('Confirmed').first()).toHaveText('5')
    await expect(row('Admitted').first()).toHaveText('2')
    await expect(row('Admitted').nth(1)).toHaveText('40%')
    await expect(row('Waiting visitors').first()).toHaveText('6')
    await expect(page.getByText('These numbers are incomplete')).toBeHidden()
    await expectAccessible(page, 'report')
  })

  await test.step('the report is downloaded as CSV and printed', async () => {
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download CSV' }).click()])
    expect(download.suggestedFilename()).toBe('acme-tour-sale-report.csv')
    await page.emulateMedia({ media: 'print' })
    await expect(page.getByRole('link', { name: 'Download CSV' })).toBeHidden()
    await expect(page.locator('#navigation')).toBeHidden()
    await expect(page.getByRole('rowheader', { name: /^Joined/ })).toBeVisible()
    await page.emulateMedia({ media: 'screen' })
  })

  await test.step('the report is translated', async () => {
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitemradio', { name: 'Deutsch' }).click()
    await page.keyboard.press('Escape')
    await expect(page.getByRole('heading', { level: 2, name: 'Bericht: Spring sale' })).toBeVisible()
    await expectAccessible(page, 'report in German')
  })
})
