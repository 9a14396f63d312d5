import { accessible } from './axe.ts'
import { expect, signIn, test } from './office.ts'

test('who comes back from an identity provider with nothing is told why, and signs in otherwise', async ({ page, office }) => {
  await page.goto(`${office.url}/sign-in?problem=unknown_operator`)
  await expect(page.getByRole('alert')).toContainText('no operator account')
  await accessible(page, 'a sign-in that came to nothing')
  await signIn(page, office, undefined, '/sign-in?problem=wrong_state')
  await expect(page.getByRole('heading', { level: 1, name: 'Overview' })).toBeVisible()
})

test('a provider has its button, which leads there', async ({ page, office }) => {
  await page.route('**/api/v1/sign-in/methods', (route) =>
    route.fulfill({ json: { password: true, oidc: { name: 'Acme', start: '/api/v1/sign-in/oidc' } } }),
  )
  await page.goto(office.url)
  await accessible(page, 'a sign-in with a provider')
  await page.getByRole('link', { name: 'Sign in with Acme' }).click()
  // This office has none.
  await expect(page).toHaveURL(/\/sign-in\?problem=oidc_not_configured$/)
  await expect(page.getByRole('alert')).toContainText('no longer configured')
})
