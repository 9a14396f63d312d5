import { expectAccessible } from './axe.ts'
import { SUPERUSER, expect, OPERATOR, signIn, test } from './backoffice.ts'

test('the audit log is searched, paged and exported', async ({ page, backoffice }) => {
  test.slow()
  await backoffice.api.tenant('acme', 'Acme Live')
  await backoffice.api.queue({ id: 'acme-tour', hosts: ['old.localhost', 'acme-tour.localhost'] })
  await backoffice.api.operator(OPERATOR, 'operator')
  const { revision } = await backoffice.api.settings('acme-tour')
  await backoffice.api.call('PATCH', '/queues/acme-tour', { hosts: ['acme-tour.localhost', 'new.localhost'], handover: { kind: 'redirect', origin: 'http://new.localhost' } }, { 'if-match': `"${revision}"` })
  for (let quota = 100; quota < 160; quota += 1) await backoffice.api.call('PATCH', '/queues/acme-tour/controls', { quota })
  await signIn(page, backoffice, SUPERUSER, '/audit')
  const entries = page.getByRole('main').locator('ol > li')

  await test.step('newest entries first, older ones on demand', async () => {
    await expect(entries).toHaveCount(50)
    await expect(entries.first()).toContainText('quota')
    await expect(entries.first()).toContainText('159')
    await page.getByRole('button', { name: 'Older entries' }).click()
    await expect(page.getByText('End of log')).toBeVisible()
    await expectAccessible(page, 'the log')
    await expect(entries.filter({ hasText: 'signed in' })).toHaveCount(0)
    await page.getByLabel('Show sign-ins').check()
    await expect(entries.first()).toContainText('ada signed in')
    await page.getByLabel('Show sign-ins').uncheck()
  })
  await test.step('lists and objects show their differences', async () => {
    await page.getByLabel('Text').fill('old.localhost')
    await page.keyboard.press('Enter')
    const change = entries.filter({ hasText: 'changed the settings of acme-tour' })
    await expect(change.locator('.change').filter({ hasText: 'hosts' })).toHaveText(/before: old\.localhost\s*after: new\.localhost/)
    await expect(change.locator('.change').filter({ hasText: 'handover.kind' })).toContainText('redirect')
    await expect(page).toHaveURL(/search=old\.localhost/)
  })
  await test.step('a URL with a search finds the same entries', async () => {
    await page.goto(`${backoffice.url}/audit?action=operator.&operator=ada`)
    await expect(entries).toHaveCount(1)
    await expect(entries).toContainText('ada created the operator otto')
    await expect(page.getByLabel('Action', { exact: true })).toHaveValue('operator.')
  })
  await test.step('matches can be downloaded', async () => {
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'CSV' }).click()
    const text = await (await (await download).createReadStream()).reduce((all: string, part: Buffer) => all + part.toString(), '')
    expect(text.split('\r\n').filter(Boolean)).toHaveLength(2)
  })
  await test.step('a search without matches can be cleared', async () => {
    await page.getByLabel('Text').fill('no such thing')
    await page.keyboard.press('Enter')
    await expect(page.getByRole('heading', { name: 'No entries match' })).toBeVisible()
    await page.getByRole('main').getByRole('button', { name: 'Show all' }).last().click()
    await expect(entries).toHaveCount(50)
  })
})
