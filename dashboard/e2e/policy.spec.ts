import { expect, signIn, test } from './backoffice.ts'
import { open, seed, PAGES } from './pages.ts'

test('pages follow the security policy without errors', async ({ page, backoffice }) => {
  test.slow()
  await seed(backoffice)
  const complaints: string[] = []
  const elsewhere: string[] = []
  page.on('console', (message) => message.type() === 'error' && !message.text().startsWith('Failed to load resource') && complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('request', (request) => !request.url().startsWith(backoffice.url) && elsewhere.push(request.url()))
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => console.error(`policy: ${violatedDirective} ${blockedURI}`))
  })
  const answer = await page.goto(backoffice.url)
  expect(answer?.headers()['content-security-policy']).toContain("default-src 'none'")
  await signIn(page, backoffice)
  for (const path of Object.values(PAGES)) {
    await open(page, backoffice.url + path)
  }
  await page.goto(`${backoffice.url}/queues/acme-tour`)
  await page.getByRole('textbox', { name: 'Quota' }).fill('25')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'More' }).click()
  await expect(page.getByRole('menu')).toBeVisible()
  expect(complaints).toEqual([])
  expect(elsewhere).toEqual([])
})
