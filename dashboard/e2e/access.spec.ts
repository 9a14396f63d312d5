import type { Page } from '@playwright/test'

import { SUPERUSER, expect, OPERATOR, signIn, test, VIEWER, type Backoffice } from './backoffice.ts'

/** A queue of `acme` with an operator and a viewer. */
async function prepare({ api }: Backoffice): Promise<void> {
  await api.tenant('acme', 'Acme')
  await api.queue({ id: 'acme-tour', name: 'World tour' })
  await api.operator(OPERATOR, 'operator')
  await api.operator(VIEWER, 'viewer')
}

const another = async (page: Page) => (await page.context().browser()!.newContext({ locale: 'en-GB' })).newPage()

test('sign-in shows errors and returns to the requested page', async ({ page, backoffice }) => {
  await prepare(backoffice)
  await page.goto(`${backoffice.url}/queues/acme-tour/rules?from=mail`)
  await expect(page).toHaveURL(/\/sign-in\?next=/)
  await expect(page.getByLabel('Name')).toBeFocused()
  await page.getByLabel('Name').fill('otto')
  await page.getByLabel('Password').fill('not the password')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('alert')).toBeVisible()
  await page.getByLabel('Password').fill(OPERATOR.password)
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(`${backoffice.url}/queues/acme-tour/rules?from=mail`)
})

test('an expired sign-in returns to the same page', async ({ page, backoffice }) => {
  await prepare(backoffice)
  await signIn(page, backoffice, OPERATOR, '/queues/acme-tour/settings')
  await page.getByLabel('Name', { exact: true }).fill('Grand tour')
  // A new password ends all sign-ins.
  await backoffice.api.call('PATCH', '/operators/otto', { password: 'something-new-and-long' })
  await page.getByRole('button', { name: 'Review and save …' }).click()
  await expect(page.getByText('Your sign-in expired.')).toBeVisible()
  await page.getByLabel('Name').fill('otto')
  await page.getByLabel('Password').fill('something-new-and-long')
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(`${backoffice.url}/queues/acme-tour/settings`)
})

test('changing the password keeps the session until sign-out', async ({ page, backoffice }) => {
  await prepare(backoffice)
  await signIn(page, backoffice, OPERATOR)
  await page.getByRole('button', { name: 'Account' }).click()
  await page.getByRole('menuitem', { name: 'Change password' }).click()
  const dialog = page.getByRole('dialog')
  await expect(dialog.getByLabel('Current password')).toBeFocused()
  await dialog.getByLabel('Current password').fill('wrong')
  await dialog.getByLabel('New password', { exact: true }).fill('something-new-and-long')
  await dialog.getByLabel('Repeat new password').fill('something-new-and-long')
  await page.keyboard.press('Enter')
  await expect(dialog.getByLabel('Current password')).toHaveAttribute('aria-invalid', 'true')
  await dialog.getByLabel('Current password').fill(OPERATOR.password)
  await page.keyboard.press('Enter')
  await expect(page.getByText('Password changed.')).toBeVisible()
  await page.reload()
  await page.getByRole('button', { name: 'Account' }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await expect(page.getByRole('heading', { name: 'Sign in' })).toBeVisible()
  await page.goto(`${backoffice.url}/queues/acme-tour`)
  await expect(page).toHaveURL(/\/sign-in\?next=/)
})

test('viewers see stats but no controls', async ({ page, backoffice }) => {
  await prepare(backoffice)
  await backoffice.api.tenant('coral', 'Coral')
  await backoffice.api.queue({ id: 'coral-tour', tenant: 'coral' })
  await signIn(page, backoffice, VIEWER)
  await expect(page.getByRole('link', { name: 'World tour' })).toBeVisible()
  await expect(page.getByRole('link', { name: 'coral-tour' })).toBeHidden()
  await expect(page.getByRole('link', { name: 'Create a queue' })).toBeHidden()
  await expect(page.getByRole('link', { name: 'Operators' })).toBeHidden()

  await page.getByRole('link', { name: 'World tour' }).click()
  await expect(page.getByText('You have read-only access to this queue.')).toBeVisible()
  await expect(page.getByRole('heading', { name: 'History' })).toBeVisible()
  await expect(page.getByRole('heading', { name: 'Controls' })).toBeHidden()
  await expect(page.getByRole('button', { name: 'More' })).toBeHidden()

  await page.getByRole('link', { name: 'Settings' }).click()
  await expect(page.getByLabel('Name', { exact: true })).toBeDisabled()
  await page.getByRole('link', { name: 'Rules' }).click()
  await expect(page.getByRole('button', { name: 'Add a rule' })).toBeHidden()
  // Viewers may test URLs.
  await page.getByRole('button', { name: 'Test', exact: true }).click()
  await expect(page.getByText('Goes to this queue.')).toBeVisible()

  for (const path of ['/queues/new', '/queues/coral-tour', '/operators']) {
    await page.goto(backoffice.url + path)
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(/Page not found|Queue not found/)
  }
})

test('concurrent saves are resolved in the conflict dialog', async ({ page, backoffice }) => {
  await prepare(backoffice)
  const other = await another(page)
  await signIn(page, backoffice, OPERATOR, '/queues/acme-tour/settings')
  await signIn(other, backoffice, SUPERUSER, '/queues/acme-tour/settings')

  await page.getByLabel('Name', { exact: true }).fill('Grand tour')
  await page.getByLabel('Maximum session length').fill('3600')

  await other.getByLabel('Name', { exact: true }).fill('Farewell tour')
  await other.getByLabel('Claim timeout').fill('45')
  await other.getByRole('button', { name: 'Review and save …' }).click()
  await other.getByRole('button', { name: 'Save', exact: true }).click()
  await expect(other.getByText('Settings saved.')).toBeVisible()

  await expect(page.getByText('Someone else changed this queue.')).toBeVisible()
  await page.getByRole('button', { name: 'Review and save …' }).click()
  const conflict = page.getByRole('dialog', { name: 'This queue was changed by someone else' })
  await expect(conflict).toContainText('You did not change this setting.')
  await expect(conflict.getByRole('button', { name: 'Continue' })).toBeDisabled()
  await conflict.getByLabel('Your value').check()
  await conflict.getByRole('button', { name: 'Continue' }).click()

  const review = page.getByRole('dialog', { name: 'Save these changes?' })
  await expect(review.getByRole('row', { name: /Name Farewell tour Grand tour/ })).toBeVisible()
  await review.getByRole('button', { name: 'Save', exact: true }).click()
  await expect(page.getByText('Settings saved.')).toBeVisible()
  const { name, claim_ttl, max_session } = await backoffice.api.settings('acme-tour')
  expect({ name, claim_ttl, max_session }).toEqual({ name: 'Grand tour', claim_ttl: 45, max_session: 3600 })
  await other.context().close()
})

test('changes of other operators appear without a reload', async ({ page, backoffice }) => {
  await prepare(backoffice)
  await signIn(page, backoffice, OPERATOR, '/queues/acme-tour')
  await expect(page.getByRole('textbox', { name: 'Quota' })).toHaveValue('10')
  await backoffice.api.call('PATCH', '/queues/acme-tour/controls', { quota: 77, mode: 'paused' })
  await expect(page.getByRole('textbox', { name: 'Quota' })).toHaveValue('77')
  await expect(page.getByRole('button', { name: 'Paused' })).toHaveAttribute('aria-pressed', 'true')
})

test('leaving unsaved settings asks for confirmation', async ({ page, backoffice }) => {
  await prepare(backoffice)
  await signIn(page, backoffice, OPERATOR, '/queues/acme-tour/settings')
  await page.getByLabel('Name', { exact: true }).fill('Grand tour')
  await page.getByRole('link', { name: 'Live' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  await expect(page.getByLabel('Name', { exact: true })).toHaveValue('Grand tour')
  await page.getByRole('link', { name: 'Live' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Leave' }).click()
  await expect(page).toHaveURL(`${backoffice.url}/queues/acme-tour`)
})

test('rules are saved and tested with a URL', async ({ page, backoffice }) => {
  await prepare(backoffice)
  await signIn(page, backoffice, OPERATOR, '/queues/acme-tour/rules')
  await page.getByRole('button', { name: 'Add a rule' }).click()
  await expect(page.getByLabel('Action')).toBeFocused()
  await page.getByLabel('Paths').fill('static/**')
  await page.getByRole('button', { name: 'Review and save …' }).click()
  await expect(page.getByLabel('Paths')).toHaveAttribute('aria-invalid', 'true')
  await page.getByLabel('Paths').fill('/static/**')
  await page.getByRole('button', { name: 'Review and save …' }).click()
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await expect(page.getByText('Rules saved.')).toBeVisible()
  await page.getByLabel('URL', { exact: true }).fill('https://acme-tour.localhost/static/logo.png')
  await page.getByRole('button', { name: 'Test', exact: true }).click()
  await expect(page.getByText('Bypassed by a rule.')).toBeVisible()
  await expect(page.getByText('Rule 1 matched; the request bypasses the queue.')).toBeVisible()
})
