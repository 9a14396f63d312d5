import { addVisitors, activeVisitor, part, queue } from './queue.ts'
import { expect, test } from './server.ts'

const address = '/tickets/M%C3%BCnchen?day=2&seat=a%20b&empty=#row-7'

test('the position falls and the requested page opens', async ({
  serve,
  shop,
  page,
}) => {
  const gate = await serve(queue())
  const active = await activeVisitor(gate)
  const [older] = await addVisitors(gate, 1)

  await page.goto(gate.at('shop.localhost', address))
  await expect(page.getByRole('heading', { name: 'You’re in line' })).toBeVisible()
  await expect(part(page, 'position')).toHaveText('2')
  await expect(page).toHaveTitle('2 · Acme')
  await expect(part(page, 'behind')).toHaveText('nobody yet')
  await addVisitors(gate, 1)
  await expect(part(page, 'behind')).toHaveText('1 person')

  await active.leave()
  await expect(part(page, 'position')).toHaveText('1')
  await expect(page.getByRole('progressbar', { name: 'Your progress' })).toHaveJSProperty('value', 0.5)

  await older?.leave()
  await expect(page.getByRole('heading', { name: 'It’s your turn' })).toBeVisible()
  await expect(page).toHaveTitle('● It’s your turn · Acme')
  await expect(page.getByRole('link', { name: 'Continue to Acme' })).toBeFocused()
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
  expect(page.url()).toBe(gate.at('shop.localhost', address))
  expect(shop.requests).toContain(`GET ${address.replace('#row-7', '')}`)
})

test('"Continue" opens the site at once', async ({ serve, page }) => {
  const gate = await serve(queue())
  const active = await activeVisitor(gate)
  await page.goto(gate.at('shop.localhost', '/a?b=1#c'))
  await expect(part(page, 'position')).toHaveText('1')
  await active.leave()
  await page.getByRole('link', { name: 'Continue to Acme' }).click()
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
  expect(page.url()).toBe(gate.at('shop.localhost', '/a?b=1#c'))
})

test('an admitted visitor is redirected with path and pass', async ({
  serve,
  page,
}) => {
  // A slot stays taken until its pass has expired, and a pass expires no later than its slot.
  const settings = queue({ kind: 'redirect', active_ttl: 15 }, { origin: (shop) => shop.replace('127.0.0.1', 'www.example.localhost') })
  const gate = await serve(settings)
  const active = await activeVisitor(gate)
  await page.goto(gate.at('shop.localhost', '/a?b=1'))
  await expect(part(page, 'position')).toHaveText('1')
  await active.leave()
  await page.waitForURL(/^http:\/\/www\.example\.localhost:\d+\/a\?b=1&vestibule_pass=ey[\w.-]+$/)
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
})

test('a visitor passes directly while slots are free', async ({ serve, page }) => {
  const gate = await serve(queue())
  await page.goto(gate.at('shop.localhost', '/a'))
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
})
