import { gzipSync } from 'node:zlib'

import { activeVisitor, part, queue } from './queue.ts'
import { expect, test } from './server.ts'

/** Maximum compressed size of everything that the page loads, in bytes. */
const BUDGET = 20 * 1024

test('the page follows its policy and size budget', async ({ serve, page }) => {
  const gate = await serve(queue())
  const active = await activeVisitor(gate)
  const hosts = new Set<string>()
  const wrong: string[] = []
  page.on('request', (request) => request.url().startsWith('data:') || hosts.add(new URL(request.url()).host))
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && wrong.push(message.text()))
  page.on('pageerror', (error) => wrong.push(error.message))
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('Network.enable')
  const sizes: number[] = []
  cdp.on('Network.loadingFinished', ({ encodedDataLength }) => sizes.push(encodedDataLength))

  await page.addInitScript(() => {
    const refused: string[] = []
    Object.assign(window, { refused })
    document.addEventListener('securitypolicyviolation', (event) => refused.push(`${event.violatedDirective} ${event.blockedURI}`))
  })
  const answer = await page.goto(gate.at('shop.localhost', '/'))
  await page.waitForResponse(/\/_vestibule\/status/)
  expect(await page.evaluate(() => (window as unknown as { refused: string[] }).refused)).toEqual([])
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(BUDGET)
  expect(sizes.length).toBeGreaterThan(1)

  const policy = (await answer?.headerValue('content-security-policy')) ?? ''
  expect(policy).toContain("default-src 'none'")
  expect(policy).not.toContain('unsafe')
  expect(await answer?.headerValue('cache-control')).toBe('no-store')
  expect(await answer?.headerValue('content-encoding')).toBe('gzip')
  await active.leave()
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
  expect(wrong).toEqual([])
  expect([...hosts]).toEqual([new URL(gate.at('shop.localhost')).host])
})

test('the embedded script is small', async ({ serve }) => {
  const gate = await serve(queue())
  const script = await fetch(`http://${gate.address}/_vestibule/keepalive.js`)
  expect(gzipSync(await script.text()).length).toBeLessThan(2816)
})

test('injected scripts do not run', async ({ serve, page }) => {
  const gate = await serve(queue({ quota: 0, name: '<script>document.title = 1</script>' }))
  await page.goto(gate.at('shop.localhost', '/?a=<script>alert(1)</script>'))
  await expect(part(page, 'position')).toHaveText('1')
  await expect(page.getByText('<script>document.title = 1</script>')).toBeVisible()
  const ran = await page.evaluate(() => {
    const script = document.createElement('script')
    script.textContent = 'window.ran = true'
    document.body.append(script)
    return 'ran' in window
  })
  expect(ran).toBe(false)
})

test('the page cannot be framed', async ({ serve, shop, page }) => {
  const gate = await serve(queue({ quota: 0 }))
  shop.body = () => `<iframe src="${gate.at('shop.localhost', '/')}"></iframe>`
  const refused = page.waitForEvent('console', (message) => message.text().includes('frame-ancestors'))
  // Another origin of the same site. Pages of other sites do not receive the queue page at all.
  await page.goto(shop.url.replace('127.0.0.1', 'shop.localhost'))
  await refused
  await expect(page.frameLocator('iframe').getByRole('heading')).toHaveCount(0)
  await page.goto(shop.url)
  await expect(page.frameLocator('iframe').getByRole('heading')).toHaveCount(0)
})
