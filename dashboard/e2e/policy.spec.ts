import { expect, signIn, test } from './office.ts'
import { furnish, settled, VIEWS } from './views.ts'

test('no page breaks the policy, asks anybody else, or fails', async ({ page, office }) => {
  test.slow()
  await furnish(office)
  const complaints: string[] = []
  const elsewhere: string[] = []
  page.on('console', (message) => message.type() === 'error' && !message.text().startsWith('Failed to load resource') && complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('request', (request) => !request.url().startsWith(office.url) && elsewhere.push(request.url()))
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => console.error(`policy: ${violatedDirective} ${blockedURI}`))
  })
  const answer = await page.goto(office.url)
  expect(answer?.headers()['content-security-policy']).toContain("default-src 'none'")
  await signIn(page, office)
  for (const path of Object.values(VIEWS)) {
    await page.goto(office.url + path)
    await settled(page)
  }
  await page.goto(`${office.url}/queues/acme-tour`)
  await page.getByRole('textbox', { name: 'Quota' }).fill('25')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'More' }).click()
  await settled(page)
  expect(complaints).toEqual([])
  expect(elsewhere).toEqual([])
})
