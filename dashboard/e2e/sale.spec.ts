import type { Locator, Page } from '@playwright/test'

import { addVisitors } from './visitors.ts'
import { expect, signIn, test } from './backoffice.ts'

/** A stat at the top of a queue's page. */
const tile = (page: Page, name: string): Locator => page.locator('dl.tiles > div').filter({ has: page.getByText(name, { exact: true }) }).locator('dd')
const dialog = (page: Page): Locator => page.getByRole('dialog')

test('a sale runs from an empty backoffice to the end', async ({ page, backoffice }) => {
  await signIn(page, backoffice)

  await test.step('the empty page explains the first step', async () => {
    await expect(page.getByRole('heading', { name: 'No queues yet' })).toBeVisible()
  })

  await test.step('tenant and queue are created on one page', async () => {
    await page.getByRole('link', { name: 'Create a queue' }).first().click()
    await page.getByLabel('Tenant name').fill('Acme Live')
    await page.getByLabel('Tenant ID').fill('acme')
    await page.getByLabel('ID', { exact: true }).fill('Acme Tour')
    await page.getByLabel('Name', { exact: true }).fill('World tour')
    await page.getByLabel('Hosts').fill('acme-tour.localhost')
    await page.getByLabel('Origin').fill(backoffice.site)
    await page.getByRole('textbox', { name: 'Quota' }).fill('5')
    await page.getByRole('button', { name: 'Create tenant and queue' }).click()
    await expect(page.getByLabel('ID', { exact: true })).toHaveAttribute('aria-invalid', 'true')
    // The tenant exists now.
    await expect(page.getByLabel('Tenant', { exact: true })).toHaveValue('acme')
    await page.getByLabel('ID', { exact: true }).fill('acme-tour')
    await page.getByRole('button', { name: 'Create queue', exact: true }).click()
    await expect(page.getByRole('heading', { level: 1, name: 'World tour' })).toBeVisible()
    await expect(page).toHaveURL(/\/queues\/acme-tour\/setup$/)
    await page.getByRole('link', { name: 'Open the queue', exact: true }).click()
    await expect(page).toHaveURL(/\/queues\/acme-tour$/)
  })

  await test.step('a new queue is paused: visitors wait', async () => {
    await addVisitors(backoffice, 'acme-tour', 60)
    await expect(tile(page, 'Waiting')).toHaveText('60')
    await expect(tile(page, 'Active')).toContainText('0')
  })

  await test.step('opening shows its effect and admits visitors', async () => {
    await page.getByRole('button', { name: 'Open', exact: true }).click()
    await expect(dialog(page)).toContainText('5 visitors now')
    await dialog(page).getByRole('button', { name: 'Change to “Open”' }).click()
    await expect(tile(page, 'Active')).toContainText('of 5 · 100%')
    await expect(tile(page, 'Waiting')).toHaveText('55')
  })

  await test.step('a raised quota admits the announced visitors', async () => {
    await page.getByRole('textbox', { name: 'Quota' }).fill('10')
    await page.getByRole('button', { name: 'Set …' }).first().click()
    await expect(dialog(page)).toContainText('Admits 5 visitors now')
    await page.keyboard.press('Enter')
    await expect(dialog(page)).toBeHidden()
    await expect(tile(page, 'Waiting')).toHaveText('50')
    await expect(tile(page, 'Active')).toContainText('of 10')
  })

  await test.step('a release exceeds the quota with a warning', async () => {
    await page.getByLabel('Admit visitors').fill('10')
    await page.getByRole('button', { name: 'Admit …' }).click()
    await expect(dialog(page)).toContainText('Admits 10 visitors now')
    await expect(dialog(page)).toContainText('10 over the quota')
    // The confirming button does not have the focus.
    await expect(dialog(page).getByRole('button', { name: 'Cancel' })).toBeFocused()
    await dialog(page).getByRole('button', { name: 'Admit 10 visitors' }).click()
    await expect(tile(page, 'Waiting')).toHaveText('40')
    await expect(page.getByText('10 visitors admitted.')).toBeVisible()
  })

  await test.step('pausing keeps the line, closing ends the sale', async () => {
    await page.getByRole('button', { name: 'Paused' }).click()
    await expect(dialog(page)).toContainText('40 visitors wait')
    await dialog(page).getByRole('button', { name: 'Change to “Paused”' }).click()
    await expect(page.getByRole('button', { name: 'Paused' })).toHaveAttribute('aria-pressed', 'true')
    await page.getByRole('button', { name: 'Closed' }).click()
    await dialog(page).getByRole('button', { name: 'Change to “Closed”' }).click()
    await expect(page.getByRole('button', { name: 'Closed' })).toHaveAttribute('aria-pressed', 'true')
    expect((await backoffice.api.settings('acme-tour')).mode).toBe('closed')
  })

  await test.step('the log of the queue lists every change', async () => {
    await page.getByRole('link', { name: 'Log', exact: true }).click()
    await expect(page.locator('.entry')).toHaveCount(6)
  })
})

test('a large release needs a second confirmation', async ({ page, backoffice }) => {
  await backoffice.api.tenant('acme', 'Acme')
  await backoffice.api.queue({ id: 'acme-tour', mode: 'paused', quota: 100 })
  await addVisitors(backoffice, 'acme-tour', 120)
  await signIn(page, backoffice, undefined, '/queues/acme-tour')
  await expect(tile(page, 'Waiting')).toHaveText('120')
  await page.getByLabel('Admit visitors').fill('110')
  await page.getByRole('button', { name: 'Admit …' }).click()
  const act = dialog(page).getByRole('button', { name: 'Admit 110 visitors' })
  await act.click()
  await expect(dialog(page).getByRole('alert')).toContainText('110')
  expect((await backoffice.api.stats('acme-tour')).active).toBe(0)
  await act.click()
  await expect(dialog(page)).toBeHidden()
  await expect(tile(page, 'Waiting')).toHaveText('10')
})

test('a visitor is found by support code, admitted and ended', async ({ page, backoffice }) => {
  await backoffice.api.tenant('acme', 'Acme')
  await backoffice.api.queue({ id: 'acme-tour', quota: 1 })
  // Concurrent visitors arrive in any order; this one arrives after all of them and waits.
  await addVisitors(backoffice, 'acme-tour', 4)
  const [last] = await addVisitors(backoffice, 'acme-tour', 1)
  const { session, support_code: code } = await last!.status()
  await signIn(page, backoffice, undefined, '/visitors')

  await page.getByLabel('Support code or session ID').fill(code.toLowerCase())
  await page.keyboard.press('Enter')
  await expect(page.locator('.found')).toContainText('Waiting')
  await page.getByRole('button', { name: 'Admit now …' }).click()
  await dialog(page).getByRole('button', { name: 'Admit', exact: true }).click()
  await expect(page.locator('.found')).toContainText('Active')
  expect((await last!.status()).state).toBe('admitted')

  await page.getByRole('button', { name: 'End session …' }).click()
  await expect(dialog(page)).toContainText(session)
  await dialog(page).getByRole('button', { name: 'End session' }).click()
  await expect(page.locator('.found')).toContainText('Ended')

  await page.getByLabel('Support code or session ID').fill('0000-0000')
  await page.keyboard.press('Enter')
  await expect(page.getByText('No session with this code.')).toBeVisible()
  await page.getByLabel('Support code or session ID').fill('banana')
  await page.keyboard.press('Enter')
  await expect(page.getByText('Must be a support code')).toBeVisible()
})

test('waiting, active and ended visitors are listed', async ({ page, backoffice }) => {
  await backoffice.api.tenant('acme', 'Acme')
  await backoffice.api.queue({ id: 'acme-tour', quota: 2 })
  await addVisitors(backoffice, 'acme-tour', 5)
  await signIn(page, backoffice, undefined, '/queues/acme-tour/sessions')
  const rows = page.locator('tbody tr')
  await expect(rows).toHaveCount(3)
  await page.getByRole('radio', { name: 'Active' }).check()
  await expect(rows).toHaveCount(2)
  await rows.first().getByRole('button').click()
  await expect(page.locator('.found')).toContainText('Active')
  await page.getByRole('button', { name: 'End session …' }).click()
  await dialog(page).getByRole('button', { name: 'End session' }).click()
  await expect(page.locator('.found')).toContainText('Ended')
  await page.getByRole('radio', { name: 'Ended' }).check()
  await expect(rows).toHaveCount(1)
})

test('a queue is cloned, reset and removed', async ({ page, backoffice }) => {
  await backoffice.api.tenant('acme', 'Acme')
  await backoffice.api.queue({ id: 'acme-tour', quota: 1, rules: [{ action: 'bypass', path: ['/static/**'] }] })
  await addVisitors(backoffice, 'acme-tour', 5)
  await signIn(page, backoffice, undefined, '/queues/acme-tour')
  const more = async (item: string) => {
    await page.getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: item }).click()
  }

  await more('Reset line')
  await expect(dialog(page)).toContainText('4')
  await expect(dialog(page).getByRole('button', { name: 'Reset line' })).toBeDisabled()
  await dialog(page).getByLabel('Type acme-tour to confirm').fill('acme-tour')
  await page.keyboard.press('Enter')
  await expect(tile(page, 'Waiting')).toHaveText('0')

  await more('Clone')
  await page.getByLabel('ID', { exact: true }).fill('acme-encore')
  await page.getByLabel('Hosts').fill('acme-encore.localhost')
  await page.getByRole('button', { name: 'Clone', exact: true }).click()
  await expect(page).toHaveURL(/\/queues\/acme-encore\/setup$/)
  expect((await backoffice.api.settings('acme-encore')).rules).toEqual([{ action: 'bypass', path: ['/static/**'] }])

  await more('Remove')
  await dialog(page).getByLabel('Type acme-encore to confirm').fill('acme-encore')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('heading', { level: 1, name: 'Overview' })).toBeVisible()
  await expect(page.getByRole('link', { name: 'acme-encore' })).toBeHidden()
})
