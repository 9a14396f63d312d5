import type { Page } from '@playwright/test'

import { expectAccessible } from './axe.ts'
import { expect, OPERATOR, signIn, test } from './backoffice.ts'

const dialog = (page: Page) => page.getByRole('dialog')

test('a token is created, used, audited and revoked', async ({ page, backoffice }) => {
  await backoffice.api.tenant('acme', 'Acme Live')
  await backoffice.api.queue({ id: 'acme-tour' })
  await backoffice.api.operator(OPERATOR, 'operator')
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await signIn(page, backoffice, OPERATOR, '/tokens')
  let secret = ''
  const ask = (method: string, path: string, body?: string) =>
    fetch(`${backoffice.url}/api/v1${path}`, { method, headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }, ...(body && { body }) })

  await test.step('roles above the owner’s are not offered', async () => {
    await expect(page.getByRole('heading', { name: 'No tokens yet' })).toBeVisible()
    await page.getByRole('button', { name: 'Create a token' }).first().click()
    await expect(dialog(page).getByRole('radio')).toHaveCount(2)
    await dialog(page).getByRole('button', { name: 'Create a token' }).click()
    await expect(dialog(page).getByLabel('Name', { exact: true })).toHaveAttribute('aria-invalid', 'true')
    await expectAccessible(page, 'a new token')
  })
  await test.step('the secret is shown once and copied', async () => {
    await dialog(page).getByLabel('Name', { exact: true }).fill('deploy script')
    await dialog(page).getByRole('radio', { name: /^Operator/ }).check()
    await dialog(page).getByLabel('Valid for').selectOption('7 days')
    await dialog(page).getByRole('button', { name: 'Create a token' }).click()
    await expect(dialog(page)).toContainText('The token is shown only once.')
    const copy = dialog(page).getByRole('button', { name: 'Copy: Token' })
    await page.setViewportSize({ width: 390, height: 844 })
    await expect(copy).toBeInViewport({ ratio: 1 })
    // No text shows below the button where the token wraps.
    const [button, figure] = [await copy.boundingBox(), await dialog(page).locator('.snippet').first().boundingBox()]
    expect(figure!.height - button!.height).toBeLessThanOrEqual(2)
    await page.setViewportSize({ width: 1280, height: 900 })
    await copy.click()
    const copied = () => page.evaluate(() => navigator.clipboard.readText())
    await expect.poll(copied).not.toBe('')
    secret = await copied()
    await expectAccessible(page, 'the secret')
    // Escape and a click outside do not close the dialog.
    await page.keyboard.press('Escape')
    await page.mouse.click(5, 5)
    await expect(dialog(page)).toBeVisible()
    await dialog(page).getByRole('button', { name: 'I’ve saved it' }).click()
    await expect(dialog(page)).toBeHidden()
    await expect(page.getByText(secret)).toHaveCount(0)
  })
  await test.step('the token works and its changes are logged', async () => {
    expect((await ask('PATCH', '/queues/acme-tour/controls', '{"quota":33}')).status).toBe(200)
    await page.getByRole('link', { name: 'Activity of deploy script' }).click()
    await expect(page.getByText('otto by an API token changed controls of acme-tour')).toBeVisible()
    await page.goBack()
  })
  await test.step('the token is revoked', async () => {
    await page.getByRole('button', { name: 'Revoke deploy script' }).click()
    await dialog(page).getByRole('button', { name: 'Revoke', exact: true }).click()
    await expect(page.getByRole('heading', { name: 'No tokens yet' })).toBeVisible()
    expect((await ask('GET', '/queues')).status).toBe(401)
  })
})
