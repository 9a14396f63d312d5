import { expect, signIn, test } from './backoffice.ts'

test('a lost connection is shown and restored', async ({ page, backoffice }) => {
  await backoffice.api.tenant('acme', 'Acme')
  await backoffice.api.queue({ id: 'acme-tour' })
  await signIn(page, backoffice)
  await expect(page.getByRole('link', { name: 'acme-tour' })).toBeVisible()
  await backoffice.stop()
  await expect(page.getByRole('alert')).toContainText('No connection to the server')
  // The last stats stay and the operator is still signed in.
  await expect(page.getByRole('link', { name: 'acme-tour' })).toBeVisible()
  await backoffice.start()
  await expect(page.getByText('Reconnected.')).toBeVisible({ timeout: 20_000 })
  await expect(page.getByRole('alert')).toBeHidden()
  await backoffice.api.queue({ id: 'acme-encore' })
  await expect(page.getByRole('link', { name: 'acme-encore' })).toBeVisible()
})

test('an unavailable store disables the controls', async ({ page, backoffice }) => {
  await backoffice.api.tenant('acme', 'Acme')
  await backoffice.api.queue({ id: 'acme-tour' })
  await signIn(page, backoffice, undefined, '/queues/acme-tour')
  await expect(page.getByRole('heading', { name: 'Controls' })).toBeVisible()
  await backoffice.stopRedis()
  await expect(page.getByRole('alert').filter({ hasText: 'The store is unavailable' })).toBeVisible({ timeout: 20_000 })
  await expect(page.getByText('Not up to date. Last update')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Paused' })).toBeDisabled()
  await expect(page.getByRole('textbox', { name: 'Quota' })).toBeDisabled()
})

test('stats recover after the store was unavailable', async ({ page, backoffice }) => {
  await backoffice.api.tenant('acme', 'Acme')
  await backoffice.api.queue({ id: 'acme-tour' })
  await signIn(page, backoffice, undefined, '/queues/acme-tour')
  await expect(page.getByRole('heading', { name: 'Controls' })).toBeVisible()
  await backoffice.stopRedis()
  const away = page.getByRole('alert').filter({ hasText: 'The store is unavailable' })
  await expect(away).toBeVisible({ timeout: 20_000 })
  await backoffice.startRedis()
  await expect(away).toBeHidden({ timeout: 30_000 })
})

test('a page opened while offline loads after reconnecting', async ({ page, backoffice }) => {
  await backoffice.api.tenant('acme', 'Acme')
  await backoffice.api.queue({ id: 'acme-tour' })
  await signIn(page, backoffice)
  await page.route('**/api/**', (route) => route.abort())
  await page.goto(`${backoffice.url}/queues/acme-tour`)
  await expect(page.getByRole('alert')).toContainText('No connection to the server')
  await page.unroute('**/api/**')
  await expect(page.getByRole('heading', { level: 1, name: 'acme-tour' })).toBeVisible({ timeout: 20_000 })
  await expect(page.getByRole('heading', { name: 'Controls' })).toBeVisible()
})

test('a hidden tab sends no requests', async ({ page, backoffice }) => {
  await signIn(page, backoffice)
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

test('a page of a replaced version is reloaded', async ({ page, backoffice }) => {
  await backoffice.api.tenant('acme', 'Acme')
  await backoffice.api.queue({ id: 'acme-tour' })
  // In the new version the file has another name.
  await page.route('**/assets/RulesPage-*.js', (route) => route.fulfill({ status: 404, body: '' }))
  await signIn(page, backoffice, undefined, '/queues/acme-tour')
  await expect(page.getByRole('heading', { name: 'Controls' })).toBeVisible()
  await page.evaluate(() => Object.assign(window, { isOld: true }))
  page.once('framenavigated', () => void page.unroute('**/assets/RulesPage-*.js'))
  await page.getByRole('link', { name: 'Rules' }).click()
  await expect(page.getByRole('button', { name: 'Add a rule' })).toBeVisible()
  expect(await page.evaluate(() => 'isOld' in window)).toBe(false)
})

test('pages are available while the server is down', async ({ page, backoffice }) => {
  await backoffice.api.tenant('acme', 'Acme')
  await backoffice.api.queue({ id: 'acme-tour' })
  const loaded = page.waitForResponse('**/assets/IntegrationPage-*.js')
  await signIn(page, backoffice, undefined, '/queues/acme-tour')
  await loaded
  await backoffice.stop()
  await expect(page.getByRole('alert')).toContainText('No connection to the server')
  await page.getByRole('link', { name: 'Integration' }).click()
  await expect(page.getByText('data-queue="acme-tour"')).toBeVisible()
})
