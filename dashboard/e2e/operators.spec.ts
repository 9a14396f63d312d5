import type { Page } from '@playwright/test'

import { expectAccessible } from './axe.ts'
import { SUPERUSER, expect, signIn, test } from './backoffice.ts'

const dialog = (page: Page) => page.getByRole('dialog')
const row = (page: Page, name: string) => page.getByRole('row').filter({ has: page.getByRole('rowheader', { name }) })

async function act(page: Page, name: string, action: string): Promise<void> {
  await row(page, name).getByRole('button', { name: 'Actions' }).click()
  await page.getByRole('menuitem', { name: action }).click()
}

test('an operator is created, promoted and removed', async ({ page, backoffice, browser }) => {
  await backoffice.api.tenant('acme', 'Acme Live')
  await backoffice.api.tenant('coral', 'Coral Sound')
  await signIn(page, backoffice, undefined, '/operators')
  await expect(page.getByRole('heading', { name: 'Permissions by role' })).toBeVisible()
  let password = ''

  await test.step('server errors are shown at the fields', async () => {
    await page.getByRole('button', { name: 'Create an operator' }).click()
    await dialog(page).getByLabel('Name', { exact: true }).fill('Zoe Li')
    await dialog(page).getByLabel('Password', { exact: true }).fill('short')
    await dialog(page).getByRole('button', { name: 'Create an operator' }).click()
    await expect(dialog(page).getByLabel('Name', { exact: true })).toHaveAttribute('aria-invalid', 'true')
    await expect(dialog(page).getByLabel('Password', { exact: true })).toHaveAttribute('aria-invalid', 'true')
    await expectAccessible(page, 'wrong fields')
  })
  await test.step('a password is suggested', async () => {
    await dialog(page).getByLabel('Name', { exact: true }).fill('zoe')
    await dialog(page).getByRole('radio', { name: 'Viewer' }).check()
    await dialog(page).getByRole('checkbox', { name: 'Acme Live' }).check()
    await dialog(page).getByRole('button', { name: 'Generate' }).click()
    password = await dialog(page).getByLabel('Password', { exact: true }).inputValue()
    await dialog(page).getByRole('button', { name: 'Create an operator' }).click()
    await expect(dialog(page)).toContainText(`Password: ${password}`)
    await dialog(page).getByRole('button', { name: 'I have copied them' }).click()
    await expect(row(page, 'zoe')).toContainText('Acme Live')
  })
  await test.step('the new operator sees only permitted pages', async () => {
    const other = await (await browser.newContext({ locale: 'en-GB' })).newPage()
    await signIn(other, backoffice, { name: 'zoe', password })
    await expect(other.getByText('Viewer', { exact: true })).toBeVisible()
    await expect(other.getByRole('link', { name: 'Operators' })).toHaveCount(0)
    await other.context().close()
  })
  await test.step('role and tenants are changed', async () => {
    await act(page, 'zoe', 'Edit')
    await dialog(page).getByRole('radio', { name: /^Operator/ }).check()
    await dialog(page).getByRole('checkbox', { name: 'Coral Sound' }).check()
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await expect(row(page, 'zoe')).toContainText('Acme Live, Coral Sound')
  })
  await test.step('a lost password is replaced', async () => {
    await act(page, 'zoe', 'Set password')
    await dialog(page).getByRole('button', { name: 'Generate' }).click()
    await dialog(page).getByRole('button', { name: 'Set password' }).click()
    await expect(page.getByText('Password of zoe set.')).toBeVisible()
  })
  await test.step('the operator is removed', async () => {
    await act(page, 'zoe', 'Remove')
    await dialog(page).getByLabel('Type zoe to confirm').fill('zoe')
    await page.keyboard.press('Enter')
    await expect(row(page, 'zoe')).toHaveCount(0)
  })
})

test('the last superuser cannot be removed', async ({ page, backoffice }) => {
  await signIn(page, backoffice, undefined, '/operators')
  await expect(row(page, SUPERUSER.name)).toContainText('only one')
  await row(page, SUPERUSER.name).getByRole('button', { name: 'Actions' }).click()
  await expect(page.getByRole('menuitem', { name: 'Remove' })).toHaveCount(0)
  await page.getByRole('menuitem', { name: 'Edit' }).click()
  await expect(dialog(page).getByRole('radio', { name: 'Viewer' })).toBeDisabled()
  await expect(dialog(page)).toContainText('last superuser')
})

test('demoting oneself hides superuser pages', async ({ page, backoffice }) => {
  await backoffice.api.tenant('acme', 'Acme Live')
  await backoffice.api.call('POST', '/operators', { name: 'bob', role: 'superuser', password: 'another-superuser' })
  await signIn(page, backoffice, undefined, '/operators')
  await act(page, SUPERUSER.name, 'Edit')
  await dialog(page).getByRole('radio', { name: 'Viewer' }).check()
  await dialog(page).getByRole('checkbox', { name: 'Acme Live' }).check()
  await expect(dialog(page)).toContainText('You will lose access to this page.')
  await dialog(page).getByRole('button', { name: 'Save' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Overview' })).toBeVisible()
  await expect(page.getByRole('link', { name: 'Operators' })).toHaveCount(0)
})
