import { expect, signIn, test } from './office.ts'

test('a lost connection is shown, and is back by itself', async ({ page, office }) => {
  await office.api.tenant('acme', 'Acme')
  await office.api.queue({ id: 'acme-tour' })
  await signIn(page, office)
  await expect(page.getByRole('link', { name: 'acme-tour' })).toBeVisible()
  await office.stop()
  await expect(page.getByRole('alert')).toContainText('No connection to the server')
  // What was seen last stays, and nobody is signed out.
  await expect(page.getByRole('link', { name: 'acme-tour' })).toBeVisible()
  await office.start()
  await expect(page.getByText('Reconnected.')).toBeVisible({ timeout: 20_000 })
  await expect(page.getByRole('alert')).toBeHidden()
  await office.api.queue({ id: 'acme-encore' })
  await expect(page.getByRole('link', { name: 'acme-encore' })).toBeVisible()
})

test('a store that is away is told apart from a server that is', async ({ page, office }) => {
  await office.api.tenant('acme', 'Acme')
  await office.api.queue({ id: 'acme-tour' })
  await signIn(page, office, undefined, '/queues/acme-tour')
  await expect(page.getByRole('heading', { name: 'Controls' })).toBeVisible()
  await office.stopRedis()
  await expect(page.getByRole('alert').filter({ hasText: 'The store is unavailable' })).toBeVisible({ timeout: 20_000 })
  await expect(page.getByText('Not up to date. Last update')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Paused' })).toBeDisabled()
  await expect(page.getByRole('textbox', { name: 'Quota' })).toBeDisabled()
})

test('numbers that are followed are not taken for new ones while the store is away', async ({ page, office }) => {
  await office.api.tenant('acme', 'Acme')
  await office.api.queue({ id: 'acme-tour' })
  await signIn(page, office, undefined, '/queues/acme-tour')
  await expect(page.getByRole('heading', { name: 'Controls' })).toBeVisible()
  await office.stopRedis()
  const away = page.getByRole('alert').filter({ hasText: 'The store is unavailable' })
  await expect(away).toBeVisible({ timeout: 20_000 })
  await office.startRedis()
  await expect(away).toBeHidden({ timeout: 30_000 })
})

test('a page that is opened while the server is away says so, and stands once it is back', async ({ page, office }) => {
  await office.api.tenant('acme', 'Acme')
  await office.api.queue({ id: 'acme-tour' })
  await signIn(page, office)
  await page.route('**/api/**', (route) => route.abort())
  await page.goto(`${office.url}/queues/acme-tour`)
  await expect(page.getByRole('alert')).toContainText('No connection to the server')
  await page.unroute('**/api/**')
  await expect(page.getByRole('heading', { level: 1, name: 'acme-tour' })).toBeVisible({ timeout: 20_000 })
  await expect(page.getByRole('heading', { name: 'Controls' })).toBeVisible()
})

test('a hidden tab asks for nothing', async ({ page, office }) => {
  await signIn(page, office)
  await expect(page.getByRole('heading', { name: 'No queues yet' })).toBeVisible()
  await page.evaluate(() => {
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => true })
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => 'hidden' })
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))
  })
  const asked: string[] = []
  page.on('request', (request) => request.url().includes('/api/') && asked.push(request.url()))
  await page.waitForTimeout(5_000)
  expect(asked).toEqual([])
})

test('a page of a version that was replaced meanwhile is loaded anew', async ({ page, office }) => {
  await office.api.tenant('acme', 'Acme')
  await office.api.queue({ id: 'acme-tour' })
  // The file has another name in the new version.
  await page.route('**/assets/RulesPage-*.js', (route) => route.fulfill({ status: 404, body: '' }))
  await signIn(page, office, undefined, '/queues/acme-tour')
  await expect(page.getByRole('heading', { name: 'Controls' })).toBeVisible()
  await page.evaluate(() => Object.assign(window, { isOld: true }))
  page.once('framenavigated', () => void page.unroute('**/assets/RulesPage-*.js'))
  await page.getByRole('link', { name: 'Rules' }).click()
  await expect(page.getByRole('button', { name: 'Add a rule' })).toBeVisible()
  expect(await page.evaluate(() => 'isOld' in window)).toBe(false)
})

test('every page is at hand while the server is away', async ({ page, office }) => {
  await office.api.tenant('acme', 'Acme')
  await office.api.queue({ id: 'acme-tour' })
  const loaded = page.waitForResponse('**/assets/IntegrationPage-*.js')
  await signIn(page, office, undefined, '/queues/acme-tour')
  await loaded
  await office.stop()
  await expect(page.getByRole('alert')).toContainText('No connection to the server')
  await page.getByRole('link', { name: 'Integration' }).click()
  await expect(page.getByText('data-queue="acme-tour"')).toBeVisible()
})
