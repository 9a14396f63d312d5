import { expectAccessible } from './axe.ts'
import { expect, signIn, test, VIEWER } from './backoffice.ts'

test('attack mode is started and ended by keyboard', async ({ page, backoffice }) => {
  await backoffice.api.tenant('acme', 'Acme Live')
  await backoffice.api.queue({ id: 'acme-tour', name: 'World tour' })
  await signIn(page, backoffice, undefined, '/queues/acme-tour/protection')
  await expect(page.getByText('First visits that did not come back')).toBeVisible()
  await expectAccessible(page, 'protection')

  await test.step('a slider is moved by keyboard', async () => {
    const slider = page.getByRole('slider', { name: 'Limit per address' })
    await slider.focus()
    await page.keyboard.press('Home')
    await expect(slider).toHaveAttribute('aria-valuetext', '1 join in 10 minutes')
  })

  await test.step('attack mode starts after a confirmation', async () => {
    await page.getByRole('button', { name: 'Start attack mode' }).press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Start attack mode?' })
    await expect(dialog).toContainText('First visits that did not come back')
    await expectAccessible(page, 'the confirmation')
    await dialog.getByRole('button', { name: 'Start attack mode' }).press('Enter')
    await expect(page.getByText('Attack mode is on')).toBeVisible()
  })

  await test.step('it ends early', async () => {
    await page.getByRole('button', { name: 'End now' }).press('Enter')
    await expect(page.getByText('Attack mode is on')).toBeHidden()
  })
})

test('viewers see protection and change nothing', async ({ page, backoffice }) => {
  await backoffice.api.tenant('acme', 'Acme Live')
  await backoffice.api.queue({ id: 'acme-tour', name: 'World tour' })
  await backoffice.api.operator(VIEWER, 'viewer')
  await signIn(page, backoffice, VIEWER, '/queues/acme-tour/protection')
  await expect(page.getByText('First visits that did not come back')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Start attack mode' })).toBeHidden()
})

test('the largest networks can be classified on a phone', async ({ page, backoffice }) => {
  await backoffice.api.tenant('acme', 'Acme Live')
  await backoffice.api.queue({ id: 'acme-tour', name: 'World tour' })
  // Joins of many addresses, without sending them.
  await page.route('**/api/v1/queues/acme-tour/protection', async (route) => {
    const report = await (await route.fetch()).json()
    const networks = [{ prefix: '203.0.113.0/24', joins: 802, list: null }, { prefix: '2001:db8:1::/48', joins: 66, list: 'blocked' }]
    await route.fulfill({ json: { ...report, networks, joins: { ...report.joins, by_network: [9011, 4100, 802, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] } } })
  })
  await page.setViewportSize({ width: 390, height: 844 })
  await signIn(page, backoffice, undefined, '/queues/acme-tour/protection')
  const block = page.getByRole('button', { name: 'Block: 203.0.113.0/24' })
  await block.scrollIntoViewIfNeeded()
  await expect(block).toBeInViewport({ ratio: 1 })
  await expectAccessible(page, 'networks on a phone')
})

test('accounts are set up in the settings', async ({ page, backoffice }) => {
  await backoffice.api.tenant('acme', 'Acme Live')
  await backoffice.api.queue({ id: 'acme-tour', name: 'World tour' })
  await signIn(page, backoffice, undefined, '/queues/acme-tour/settings')
  const key = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo', kid: 'site' }
  await page.getByLabel('Accounts').selectOption('Tokens of the site')
  await page.getByLabel('Issuer').fill('https://www.example.com')
  await page.getByLabel('Audiences').fill('tour')
  await page.getByLabel('Where the token is').fill('cookie:shop_id')

  await test.step('a key set that is none is refused at its field', async () => {
    await page.getByLabel('Keys', { exact: true }).fill('{ "keys": ')
    await page.getByRole('button', { name: 'Review' }).click()
    await expect(page.locator('.field', { hasText: 'JWK set itself' }).locator('.error')).toContainText('JWK set')
    await expectAccessible(page, 'accounts')
  })

  await test.step('the settings are saved and shown again', async () => {
    await page.getByLabel('Keys', { exact: true }).fill(JSON.stringify({ keys: [key] }))
    await page.getByRole('button', { name: 'Review' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await expect(page.getByText('Settings saved.')).toBeVisible()
    await page.reload()
    await expect(page.getByLabel('Issuer')).toHaveValue('https://www.example.com')
    await expect(page.getByLabel('Where the token is')).toHaveValue('cookie:shop_id')
    expect(JSON.parse(await page.getByLabel('Keys', { exact: true }).inputValue()).keys).toMatchObject([{ kid: 'site' }])
  })
})
