import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

import { AxeBuilder } from '@axe-core/playwright'

import { addVisitors } from './visitors.ts'
import { expect, signIn, test, type Backoffice } from './backoffice.ts'

/** The hosts of one site: cookies of the dashboard are sent in frames of these pages. */
const DASHBOARD = 'admin.acme.localhost'
const SHOP = 'shop.acme.localhost'
const OTHER = 'other.acme.localhost'

const port = ({ url }: Backoffice) => new URL(url).port
const dashboard = (backoffice: Backoffice): Backoffice => ({ ...backoffice, url: `http://${DASHBOARD}:${port(backoffice)}` })

/** A site whose page has the overlay in a frame, on every host. */
async function openSite(overlay: string): Promise<Server> {
  const page = `<!doctype html><html lang="en"><title>Shop</title><main><h1>Tickets</h1></main><iframe id="overlay" title="Queue controls" src="${overlay}" width="1200" height="60"></iframe></html>`
  const site = createServer((_, response) => response.setHeader('content-type', 'text/html').end(page))
  await new Promise<void>((listening) => site.listen(0, '127.0.0.1', listening))
  return site
}

test('the queue’s host frames the overlay, other hosts cannot', async ({ page, backoffice }) => {
  await backoffice.api.tenant('acme', 'Acme Live')
  await backoffice.api.queue({ id: 'acme-tour', quota: 0, hosts: [SHOP, 'acme-tour.localhost', '*'] })
  await addVisitors(backoffice, 'acme-tour', 12)
  await signIn(page, dashboard(backoffice))
  const site = await openSite(`${dashboard(backoffice).url}/queues/acme-tour/overlay`)
  const at = (host: string) => `http://${host}:${(site.address() as AddressInfo).port}/`
  const overlay = page.frameLocator('#overlay')

  await test.step('a page on the queue’s host shows the controls', async () => {
    await page.goto(at(SHOP))
    await expect(overlay.locator('dl')).toHaveText(/Waiting\s*12/)
    const { violations } = await new AxeBuilder({ page }).analyze()
    expect(violations).toEqual([])
    await overlay.getByRole('button', { name: 'Admit 10 visitors' }).click()
    await expect(overlay.getByRole('alert')).toContainText('Admits 10 visitors now')
    await overlay.getByRole('button', { name: 'Admit 10 visitors' }).click()
    await expect(overlay.getByRole('status')).toHaveText('10 visitors admitted.')
    await expect(overlay.locator('dl')).toHaveText(/Waiting\s*2/)
    const fits = await page.frames()[1]!.evaluate(() => document.documentElement.scrollHeight <= 60)
    expect(fits).toBe(true)
  })

  await test.step('a page on another host is refused', async () => {
    const refused = page.waitForEvent('console', (message) => message.text().includes('frame-ancestors'))
    await page.goto(at(OTHER))
    await refused
    await expect(overlay.locator('dl')).toHaveCount(0)
  })

  await test.step('no other page can be framed', async () => {
    for (const path of ['/', '/queues/acme-tour', '/queues/gone/overlay']) {
      const { headers } = await page.request.get(backoffice.url + path).then((response) => ({ headers: response.headers() }))
      expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
      expect(headers['x-frame-options']).toBe('DENY')
    }
    const overlay = await page.request.get(`${backoffice.url}/queues/acme-tour/overlay`)
    expect(overlay.headers()['content-security-policy']).toContain(`frame-ancestors ${SHOP}:* acme-tour.localhost:*`)
    expect(overlay.headers()['content-security-policy']).not.toContain(' *')
    expect(overlay.headers()['x-frame-options']).toBeUndefined()
  })
  site.closeAllConnections()
  site.close()
})
