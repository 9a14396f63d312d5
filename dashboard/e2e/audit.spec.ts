import { accessible } from './axe.ts'
import { ADA, expect, OTTO, signIn, test } from './office.ts'

test('the log says who changed what, is searched, and leads to older entries', async ({ page, office }) => {
  test.slow()
  await office.api.tenant('acme', 'Acme Live')
  await office.api.queue({ id: 'acme-tour', hosts: ['old.localhost', 'acme-tour.localhost'] })
  await office.api.operator(OTTO, 'operator')
  const { revision } = await office.api.settings('acme-tour')
  await office.api.call('PATCH', '/queues/acme-tour', { hosts: ['acme-tour.localhost', 'new.localhost'], handover: { kind: 'redirect', origin: 'http://new.localhost' } }, { 'if-match': `"${revision}"` })
  for (let quota = 100; quota < 160; quota += 1) await office.api.call('PATCH', '/queues/acme-tour/controls', { quota })
  await signIn(page, office, ADA, '/audit')
  const entries = page.getByRole('main').locator('ol > li')

  await test.step('the newest first, older ones on demand', async () => {
    await expect(entries).toHaveCount(50)
    await expect(entries.first()).toContainText('quota')
    await expect(entries.first()).toContainText('159')
    await page.getByRole('button', { name: 'Older entries' }).click()
    await expect(page.getByText('End of log')).toBeVisible()
    await accessible(page, 'the log')
    await expect(entries.filter({ hasText: 'signed in' })).toHaveCount(0)
    await page.getByLabel('Show sign-ins').check()
    await expect(entries.first()).toContainText('ada signed in')
    await page.getByLabel('Show sign-ins').uncheck()
  })
  await test.step('of a list it tells what was lost and gained, of an object what differs', async () => {
    await page.getByLabel('Text').fill('old.localhost')
    await page.keyboard.press('Enter')
    const change = entries.filter({ hasText: 'changed the settings of acme-tour' })
    await expect(change.locator('.change').filter({ hasText: 'hosts' })).toHaveText(/before: old\.localhost\s*after: new\.localhost/)
    await expect(change.locator('.change').filter({ hasText: 'handover.kind' })).toContainText('redirect')
    await expect(page).toHaveURL(/search=old\.localhost/)
  })
  await test.step('an address with a search in it finds the same', async () => {
    await page.goto(`${office.url}/audit?action=operator.&operator=ada`)
    await expect(entries).toHaveCount(1)
    await expect(entries).toContainText('ada created the operator otto')
    await expect(page.getByLabel('Action', { exact: true })).toHaveValue('operator.')
  })
  await test.step('what matches can be downloaded', async () => {
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: 'CSV' }).click()
    const text = await (await (await download).createReadStream()).reduce((all: string, part: Buffer) => all + part.toString(), '')
    expect(text.split('\r\n').filter(Boolean)).toHaveLength(2)
  })
  await test.step('what nobody did is not found, and the page says what to do', async () => {
    await page.getByLabel('Text').fill('no such thing')
    await page.keyboard.press('Enter')
    await expect(page.getByRole('heading', { name: 'No entries match' })).toBeVisible()
    await page.getByRole('main').getByRole('button', { name: 'Show all' }).last().click()
    await expect(entries).toHaveCount(50)
  })
})
