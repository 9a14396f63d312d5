import type { Page } from '@playwright/test'

import { expectAccessible } from './axe.ts'
import { expect, OPERATOR, signIn, test, VIEWER, type Backoffice } from './backoffice.ts'
import { open } from './pages.ts'

const dialog = (page: Page) => page.getByRole('dialog')
const row = (page: Page, name: string) => page.getByRole('row').filter({ has: page.getByRole('rowheader', { name }) })

async function prepare({ api }: Backoffice): Promise<void> {
  await api.tenant('acme', 'Acme Live')
  await api.tenant('coral', 'Coral Sound')
  await api.queue({ id: 'acme-tour', name: 'World tour' })
  await api.operator(OPERATOR, 'operator')
  await api.operator(VIEWER, 'viewer')
}

test('a tenant is created, changed and removed', async ({ page, backoffice }) => {
  await signIn(page, backoffice, undefined, '/tenants')
  await expect(page.getByRole('heading', { name: 'No tenants yet' })).toBeVisible()
  await page.getByRole('button', { name: 'Create a tenant' }).first().click()
  await expectAccessible(page, 'a new tenant')

  await test.step('the id follows the name and errors are shown', async () => {
    await dialog(page).getByLabel('Name', { exact: true }).fill('Große Bühne')
    await expect(dialog(page).getByLabel('ID', { exact: true })).toHaveValue('grosse-buehne')
    await dialog(page).getByLabel('Color', { exact: true }).fill('red')
    await dialog(page).getByRole('button', { name: 'Create a tenant' }).click()
    await expect(dialog(page).getByLabel('Color', { exact: true })).toHaveAttribute('aria-invalid', 'true')
    await expectAccessible(page, 'wrong fields')
  })
  await test.step('a valid color is saved', async () => {
    await dialog(page).getByLabel('Color', { exact: true }).fill('#ffd400')
    await dialog(page).getByRole('button', { name: 'Create a tenant' }).click()
    await expect(dialog(page)).toBeHidden()
    await expect(row(page, 'Große Bühne')).toContainText('#ffd400')
  })
  await test.step('a taken id is shown at its field', async () => {
    await page.getByRole('button', { name: 'Create a tenant' }).click()
    await dialog(page).getByLabel('Name', { exact: true }).fill('Große Bühne')
    await dialog(page).getByRole('button', { name: 'Create a tenant' }).click()
    await expect(dialog(page).getByLabel('ID', { exact: true })).toHaveAttribute('aria-invalid', 'true')
    await page.keyboard.press('Escape')
  })
  await test.step('the tenant is changed', async () => {
    await page.getByRole('button', { name: 'Edit Große Bühne' }).click()
    await dialog(page).getByLabel('Color', { exact: true }).fill('')
    await dialog(page).getByLabel('Name', { exact: true }).fill('Kleine Bühne')
    await page.keyboard.press('Enter')
    await expect(row(page, 'Kleine Bühne')).toContainText('Theme color')
  })
  await test.step('the tenant is removed after typing its id', async () => {
    await page.getByRole('button', { name: 'Remove Kleine Bühne' }).click()
    await dialog(page).getByLabel('Type grosse-buehne to confirm').fill('grosse-buehne')
    await dialog(page).getByRole('button', { name: 'Remove', exact: true }).click()
    await expect(page.getByRole('heading', { name: 'No tenants yet' })).toBeVisible()
  })
})

test('a live theme’s image is selected as logo', async ({ page, backoffice }) => {
  await prepare(backoffice)
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 60"><rect width="200" height="60" fill="#7a1fa2"/></svg>'
  await backoffice.writeTheme('acme/logo.svg', svg)
  await signIn(page, backoffice, undefined, '/tenants')
  await page.getByRole('button', { name: 'Edit Acme Live' }).click()
  await dialog(page).getByLabel('Logo').selectOption('logo.svg')
  const image = page.frameLocator('iframe[title="Preview of logo.svg"]').locator('img')
  await expect(image).toHaveJSProperty('complete', true)
  await expectAccessible(page, 'a logo')
  await dialog(page).getByRole('button', { name: 'Save' }).click()
  await expect(dialog(page)).toBeHidden()
  const { tenants } = await backoffice.api.call<{ tenants: { id: string; logo: string | null }[] }>('GET', '/tenants')
  expect(tenants.find(({ id }) => id === 'acme')?.logo).toBe('logo.svg')
})

test('a tenant with queues is not removed', async ({ page, backoffice }) => {
  await prepare(backoffice)
  await signIn(page, backoffice, undefined, '/tenants')
  await expect(row(page, 'Acme Live')).toContainText('1 queue')
  await page.getByRole('button', { name: 'Remove Acme Live' }).click()
  await expect(dialog(page)).toContainText('Acme Live still has queues')
  await dialog(page).getByRole('link', { name: 'World tour' }).click()
  await expect(page).toHaveURL(/\/queues\/acme-tour$/)
})

test('operators edit only their own tenants', async ({ page, backoffice }) => {
  await prepare(backoffice)
  await signIn(page, backoffice, OPERATOR, '/tenants')
  await expect(page.getByRole('button', { name: 'Edit Acme Live' })).toBeVisible()
  await expect(page.getByRole('button', { name: /Remove|Create/ })).toHaveCount(0)
  await expect(page.getByText('Coral Sound')).toHaveCount(0)
})

test('viewers cannot change anything', async ({ page, backoffice }) => {
  await prepare(backoffice)
  await backoffice.api.call('POST', '/themes/acme/versions', { files: [{ path: 'extra.css', base64: 'eA==' }] })
  await signIn(page, backoffice, VIEWER, '/tenants')
  await expect(page.getByRole('rowheader', { name: 'Acme Live' })).toBeVisible()
  for (const path of ['/tenants', '/themes', '/themes/acme', '/audit']) {
    await open(page, backoffice.url + path)
    await expect(page.getByRole('main').getByRole('button', { name: /create|edit|remove|save|validate|activate|revoke/i }), path).toHaveCount(0)
  }
  for (const path of ['/operators', '/tokens']) {
    await page.goto(backoffice.url + path)
    await expect(page.getByRole('heading', { level: 1, name: 'Page not found' })).toBeVisible()
  }
})
