import type { Page } from '@playwright/test'

import { accessible } from './axe.ts'
import { expect, OTTO, signIn, test } from './office.ts'

const dialog = (page: Page) => page.getByRole('dialog')

test('a token is made, works, shows what it did, and works no more once it is revoked', async ({ page, office }) => {
  await office.api.tenant('acme', 'Acme Live')
  await office.api.queue({ id: 'acme-tour' })
  await office.api.operator(OTTO, 'operator')
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await signIn(page, office, OTTO, '/tokens')
  let secret = ''
  const ask = (method: string, path: string, body?: string) =>
    fetch(`${office.url}/api/v1${path}`, { method, headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }, ...(body && { body }) })

  await test.step('it never may more than its owner', async () => {
    await expect(page.getByRole('heading', { name: 'No tokens yet' })).toBeVisible()
    await page.getByRole('button', { name: 'Create a token' }).first().click()
    await expect(dialog(page).getByRole('radio')).toHaveCount(2)
    await dialog(page).getByRole('button', { name: 'Create a token' }).click()
    await expect(dialog(page).getByLabel('Name', { exact: true })).toHaveAttribute('aria-invalid', 'true')
    await accessible(page, 'a new token')
  })
  await test.step('its secret is shown once, and copied', async () => {
    await dialog(page).getByLabel('Name', { exact: true }).fill('deploy script')
    await dialog(page).getByRole('radio', { name: /^Operator/ }).check()
    await dialog(page).getByLabel('Valid for').selectOption('7 days')
    await dialog(page).getByRole('button', { name: 'Create a token' }).click()
    await expect(dialog(page)).toContainText('The token is shown only once.')
    const copy = dialog(page).getByRole('button', { name: 'Copy: Token' })
    await page.setViewportSize({ width: 390, height: 844 })
    await expect(copy).toBeInViewport({ ratio: 1 })
    await page.setViewportSize({ width: 1280, height: 900 })
    await copy.click()
    secret = await page.evaluate(() => navigator.clipboard.readText())
    await accessible(page, 'the secret')
    // It does not go away by accident.
    await page.keyboard.press('Escape')
    await page.mouse.click(5, 5)
    await expect(dialog(page)).toBeVisible()
    await dialog(page).getByRole('button', { name: 'I’ve saved it' }).click()
    await expect(dialog(page)).toBeHidden()
    await expect(page.getByText(secret)).toHaveCount(0)
  })
  await test.step('it works, and the log says what it did', async () => {
    expect((await ask('PATCH', '/queues/acme-tour/controls', '{"quota":33}')).status).toBe(200)
    await page.getByRole('link', { name: 'Activity of deploy script' }).click()
    await expect(page.getByText('otto by an API token changed controls of acme-tour')).toBeVisible()
    await page.goBack()
  })
  await test.step('it is revoked', async () => {
    await page.getByRole('button', { name: 'Revoke deploy script' }).click()
    await dialog(page).getByRole('button', { name: 'Revoke', exact: true }).click()
    await expect(page.getByRole('heading', { name: 'No tokens yet' })).toBeVisible()
    expect((await ask('GET', '/queues')).status).toBe(401)
  })
})
