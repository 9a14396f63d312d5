import { expectAccessible } from './axe.ts'
import { expect, signIn, test } from './backoffice.ts'

test('a failed provider sign-in shows the reason', async ({ page, backoffice }) => {
  await page.goto(`${backoffice.url}/sign-in?problem=unknown_operator`)
  await expect(page.getByRole('alert')).toContainText('no operator account')
  await expectAccessible(page, 'a failed sign-in')
  await signIn(page, backoffice, undefined, '/sign-in?problem=wrong_state')
  await expect(page.getByRole('heading', { level: 1, name: 'Overview' })).toBeVisible()
})

test('the provider link starts the sign-in', async ({ page, backoffice }) => {
  await page.route('**/api/v1/sign-in/methods', (route) =>
    route.fulfill({ json: { password: true, oidc: { name: 'Acme', start: '/api/v1/sign-in/oidc' } } }),
  )
  await page.goto(backoffice.url)
  await expectAccessible(page, 'a sign-in with a provider')
  await page.getByRole('link', { name: 'Sign in with Acme' }).click()
  // This backoffice has no identity provider.
  await expect(page).toHaveURL(/\/sign-in\?problem=oidc_not_configured$/)
  await expect(page.getByRole('alert')).toContainText('no longer configured')
})
