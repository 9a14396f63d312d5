import { expect, signIn, test } from './backoffice.ts'

const QUEUES = 500

test('five hundred queues stay responsive and stable', async ({ page, backoffice }) => {
  test.slow()
  const tenants = ['acme', 'blue', 'coral', 'delta', 'ember']
  for (const tenant of tenants) await backoffice.api.tenant(tenant, tenant)
  const handover = { kind: 'check' as const }
  const queues = Array.from({ length: QUEUES }, (_, index) => {
    const id = `${tenants[index % tenants.length]}-show-${index}`
    return { id, tenant: tenants[index % tenants.length], name: `Show ${index}`, hosts: [`${id}.localhost`], quota: 10, epoch: 1, handover }
  })
  await backoffice.api.call('POST', '/settings', { tenants: tenants.map((id) => ({ id, name: id })), queues })

  // Long tasks block the page.
  await page.addInitScript(() => {
    Object.assign(window, { longest: 0 })
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) Object.assign(window, { longest: Math.max((window as never)['longest'], duration) })
    }).observe({ type: 'longtask', buffered: true })
  })
  const longest = () => page.evaluate(() => (window as never)['longest'] as number)

  await signIn(page, backoffice)
  await expect(page.getByRole('row')).toHaveCount(QUEUES + 1)
  console.log(`drawing ${QUEUES} queues blocked the page for ${await longest()} ms at most`)

  await page.evaluate(() => Object.assign(window, { longest: 0 }))
  await page.getByLabel('Search queues').fill('show-499')
  await expect(page.getByRole('row')).toHaveCount(2)
  await page.getByLabel('Search queues').fill('')
  await expect(page.getByRole('row')).toHaveCount(QUEUES + 1)
  await page.getByLabel('Tenant').selectOption('coral')
  await expect(page.getByRole('row')).toHaveCount(QUEUES / tenants.length + 1)
  await page.getByLabel('Tenant').selectOption({ index: 0 })
  await expect(page.getByRole('row')).toHaveCount(QUEUES + 1)
  await page.waitForTimeout(6_000)
  console.log(`searching, filtering and updates blocked it for ${await longest()} ms at most`)

  const first = page.getByRole('row').nth(1)
  await first.hover()
  const name = await first.getByRole('link').textContent()
  await backoffice.api.call('PATCH', '/queues/ember-show-499/controls', { quota: 0, mode: 'paused' })
  await page.waitForTimeout(3_000)
  await expect(first.getByRole('link')).toHaveText(name!)
})
