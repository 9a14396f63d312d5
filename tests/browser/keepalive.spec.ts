import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from '@playwright/test'

import { addVisitors, part, QUEUE, queue } from './queue.ts'
import { expect, test } from './server.ts'
import type { Shop } from './shop.ts'

/** Embeds the script in every page of the shop. */
function embed(shop: Shop, attributes = '', base = '', queueAttribute = `data-queue="${QUEUE}"`): void {
  shop.body = () =>
    `<main><h1>The shop</h1></main>
    <script>
      window.events = []
      for (const name of ['alive', 'expiring', 'lost'])
        document.addEventListener('vestibule:' + name, (event) => {
          events.push(name)
          if (window.ownBars) event.preventDefault()
        })
    </script>
    <script src="${base}/_vestibule/keepalive.js" ${queueAttribute} ${attributes} defer></script>`
}

/** Times of the keepalive requests, in milliseconds. */
function keepaliveTimes(page: Page): number[] {
  const times: number[] = []
  page.on('requestfinished', (request) => {
    if (request.url().includes('/_vestibule/keepalive?')) times.push(Date.now())
  })
  return times
}

const events = (page: Page) => page.evaluate(() => (window as unknown as { events: string[] }).events)
const moveMouse = (page: Page) => page.mouse.move(Math.random() * 100, Math.random() * 100)
/** Idle after 1.2 seconds. */
const shortIdle = 'data-idle="0.02"'
const warning = { name: /^Your session ends in 0:\d\d\.$/ }
const ended = { name: 'Your session has ended.' }

test('keepalives extend an active session', async ({ serve, shop, page }) => {
  embed(shop)
  const gate = await serve(queue({ active_ttl: 5 }))
  const times = keepaliveTimes(page)
  await page.goto(gate.at('shop.localhost', '/'))
  const [waiting] = await addVisitors(gate, 1)
  await expect.poll(() => (times.at(-1) ?? 0) - (times[0] ?? 0), { timeout: 15_000 }).toBeGreaterThan(5500)
  expect(await waiting?.status()).toMatchObject({ state: 'waiting', position: 1 })
  expect(await events(page)).toContain('alive')
  await expect(page.getByRole('alertdialog')).toHaveCount(0)
})

for (const [name, attribute] of [['a wrong', 'data-queue="other"'], ['no', '']] as const) {
  test(`${name} queue is reported once, after three requests`, async ({ serve, shop, page }) => {
    embed(shop, '', '', attribute)
    await page.clock.install()
    const gate = await serve(queue())
    const errors: string[] = []
    page.on('console', (message) => message.type() === 'error' && message.text().startsWith('keepalive.js') && errors.push(message.text()))
    const times = keepaliveTimes(page)
    await page.goto(gate.at('shop.localhost', '/'))
    for (const count of [1, 2, 3]) {
      expect(errors).toEqual([])
      await expect.poll(() => times.length).toBe(count)
      if (count < 3) await page.clock.runFor('00:16')
    }
    await expect.poll(() => errors.length).toBe(1)
    expect(errors[0]).toContain('No queue with this ID on this host.')
    await page.clock.runFor('01:00')
    expect([times.length, errors.length]).toEqual([3, 1])
  })
}

test('a wrong queue is reported on pages of any other host', async ({ serve, shop, page }) => {
  await page.clock.install()
  const gate = await serve(queue({ hosts: ['queue.acme.localhost'] }))
  embed(shop, '', gate.at('queue.acme.localhost', ''), 'data-queue="other"')
  const errors: string[] = []
  page.on('console', (message) => message.type() === 'error' && message.text().startsWith('keepalive.js') && errors.push(message.text()))
  const times = keepaliveTimes(page)
  await page.goto(shop.url.replace('127.0.0.1', 'www.other.localhost'))
  for (const count of [1, 2, 3]) {
    await expect.poll(() => times.length).toBe(count)
    if (count < 3) await page.clock.runFor('00:16')
  }
  await expect.poll(() => errors.length).toBe(1)
})

test('keepalives pause while idle and resume on activity', async ({ serve, shop, page }) => {
  embed(shop)
  await page.clock.install()
  const gate = await serve(queue({ active_ttl: 3600 }))
  const times = keepaliveTimes(page)
  await page.goto(gate.at('shop.localhost', '/'))
  await expect.poll(() => times.length).toBe(1)
  await page.clock.runFor('05:00')
  await page.clock.runFor('01:00')
  await page.clock.runFor('30:00')
  const before = times.length
  await page.clock.runFor('10:00')
  expect(times.length).toBe(before)
  await moveMouse(page)
  await page.clock.runFor('00:02')
  await expect.poll(() => times.length).toBe(before + 1)
})

test('an idle visitor is warned and can stay by keyboard', async ({ serve, shop, page }) => {
  embed(shop, shortIdle)
  const gate = await serve(queue({ active_ttl: 8, claim_ttl: 30 }))
  const times = keepaliveTimes(page)
  await page.goto(gate.at('shop.localhost', '/'))
  const [waiting] = await addVisitors(gate, 1)
  await expect(page.getByRole('alertdialog', warning)).toBeVisible()
  await expect(page.getByRole('button', { name: 'Stay' })).toBeFocused()
  expect(await events(page)).toContain('expiring')
  const { violations } = await new AxeBuilder({ page }).analyze()
  expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([])

  const before = times.length
  await page.keyboard.press('Enter')
  await expect(page.getByRole('alertdialog')).toHaveCount(0)
  await expect.poll(() => times.length).toBe(before + 1)
  expect(await waiting?.status()).toMatchObject({ state: 'waiting' })
})

test('"Stay" takes the click from the page below', async ({ serve, shop, page }) => {
  embed(shop, shortIdle)
  const gate = await serve(queue({ active_ttl: 8 }))
  const times = keepaliveTimes(page)
  await page.goto(gate.at('shop.localhost', '/'))
  const box = await page.getByRole('button', { name: 'Stay' }).boundingBox()
  await page.evaluate(() => {
    document.body.style.minHeight = '100vh'
    document.body.addEventListener('click', (event) => {
      if (event.target === document.body) document.title = 'clicked beneath'
    })
  })
  const before = times.length
  await page.mouse.click((box?.x ?? 0) + 20, (box?.y ?? 0) + 10)
  await expect.poll(() => times.length).toBe(before + 1)
  await expect(page.getByRole('alertdialog')).toHaveCount(0)
  await expect(page).toHaveTitle('The shop')
})

test('the warning counts down without taking the focus', async ({ serve, shop, page }) => {
  embed(shop, shortIdle)
  const gate = await serve(queue({ active_ttl: 20 }))
  await page.goto(gate.at('shop.localhost', '/'))
  await page.evaluate(() => {
    const field = document.createElement('input')
    document.body.append(field)
    field.focus()
  })
  const bar = page.getByRole('alert')
  await expect(bar).toContainText(/Your session ends in 0:\d\d\./)
  await expect(page.locator('input')).toBeFocused()
  const first = await bar.innerText()
  await expect(bar).not.toHaveText(first)
  await page.keyboard.type('x')
  await expect(bar).toHaveCount(0)
  await expect(page.locator('input')).toHaveValue('x')
})

test('the focus returns after "Stay"', async ({ serve, shop, page }) => {
  embed(shop, shortIdle)
  const gate = await serve(queue({ active_ttl: 20 }))
  await page.goto(gate.at('shop.localhost', '/'))
  await page.evaluate(() => {
    const link = document.createElement('a')
    link.href = '#here'
    link.textContent = 'A link'
    document.body.append(link)
    link.focus()
  })
  await expect(page.getByRole('button', { name: 'Stay' })).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(page.getByRole('link', { name: 'A link' })).toBeFocused()
  expect(page.url()).not.toContain('#here')
})

test('an expired session links back to the line', async ({ serve, shop, page }) => {
  embed(shop, shortIdle)
  const gate = await serve(queue({ active_ttl: 4 }))
  await page.goto(gate.at('shop.localhost', '/a?b=1'))
  const [waiting] = await addVisitors(gate, 1)
  await expect.poll(async () => (await waiting?.status())?.state).toBe('admitted')
  await expect(page.getByRole('alertdialog', ended)).toBeVisible()
  expect((await events(page)).at(-1)).toBe('lost')
  const { violations } = await new AxeBuilder({ page }).analyze()
  expect(violations).toEqual([])
  await waiting?.status()
  await page.getByRole('link', { name: 'Rejoin the line' }).click()
  await expect(part(page, 'position')).toHaveText('1')
  expect(page.url()).toBe(gate.at('shop.localhost', '/a?b=1'))
})

test('leaving in one tab is shown in the others', async ({ serve, shop, context }) => {
  embed(shop)
  const gate = await serve(queue({ active_ttl: 6 }))
  const page = await context.newPage()
  await page.goto(gate.at('shop.localhost', '/'))
  await expect.poll(() => events(page)).toContain('alive')
  const other = await context.newPage()
  await other.goto(gate.at('shop.localhost', '/'))
  await other.evaluate(() => fetch('/_vestibule/leave?queue=acme-tour', { method: 'POST' }))
  await expect(page.getByRole('alertdialog', ended)).toBeVisible()
  expect((await events(page)).at(-1)).toBe('lost')
})

test('preventDefault suppresses the built-in notices', async ({ serve, shop, page }) => {
  embed(shop, shortIdle)
  const gate = await serve(queue({ active_ttl: 4 }))
  await page.addInitScript(() => Object.assign(window, { ownBars: true }))
  await page.goto(gate.at('shop.localhost', '/'))
  await expect.poll(() => events(page)).toContain('expiring')
  await expect.poll(() => events(page)).toContain('lost')
  await expect(page.getByRole('alertdialog')).toHaveCount(0)
})

for (const [lang, name] of Object.entries({
  de: /^Ihre Sitzung endet in 0:/,
  cy: /^Bydd eich sesiwn yn dod i ben mewn 0:/,
  'fr-CH': /^Votre session se termine dans 0:/,
  pt: /^A sua sessão termina em 0:/,
  it: /^La sua sessione scade tra 0:/,
  pl: /^Twoja sesja skończy się za 0:/,
  tr: /^Oturumunuzun bitmesine kalan süre: 0:/,
  ar: /^تنتهي جلستك خلال 0:/,
  ja: /^セッション終了まで 0:/,
  ko: /^세션 종료까지 0:/,
  'zh-CN': /^您的会话将在 0:/,
  'zh-TW': /^您的工作階段將在 0:/,
  sv: /^Your session ends in 0:/,
})) {
  test(`the warning uses the language of the page: ${lang}`, async ({ serve, shop, page }) => {
    embed(shop, `${shortIdle} data-lang="${lang}"`)
    const gate = await serve(queue({ active_ttl: 8 }))
    await page.goto(gate.at('shop.localhost', '/'))
    const bar = page.getByRole('alertdialog', { name })
    await expect(bar).toBeVisible()
    const used = { 'fr-CH': 'fr', 'zh-CN': 'zh', 'zh-TW': 'zh-hant', sv: 'en' }[lang] ?? lang
    await expect(bar).toHaveAttribute('lang', used)
    await expect(bar).toHaveCSS('direction', lang === 'ar' ? 'rtl' : 'ltr')
  })
}

test('keepalives work from the site on another host', async ({ serve, shop, page }) => {
  // One tenant with two hosts: the queue and the site.
  const origin = (shop: string) => shop.replace('127.0.0.1', 'www.acme.localhost')
  const gate = await serve(queue({ kind: 'redirect', hosts: ['queue.acme.localhost'], active_ttl: 5 }, { origin }))
  embed(shop, shortIdle, gate.at('queue.acme.localhost', ''))
  const times = keepaliveTimes(page)
  const broken: string[] = []
  page.on('console', (message) => message.type() === 'error' && broken.push(message.text()))
  await page.goto(gate.at('queue.acme.localhost', '/a'))
  await expect(page).toHaveURL(/^http:\/\/www\.acme\.localhost:\d+\/a\?vestibule_pass=/)
  await expect
    .poll(async () => {
      await moveMouse(page)
      return (times.at(-1) ?? 0) - (times[0] ?? 0)
    }, { timeout: 15_000 })
    .toBeGreaterThan(5500)
  expect(await events(page)).not.toContain('lost')
  // Then the visitor is idle until the session expires.
  await expect(page.getByRole('alertdialog', ended)).toBeVisible()
  await page.getByRole('link', { name: 'Rejoin the line' }).click()
  await expect(page).toHaveURL(/^http:\/\/www\.acme\.localhost:\d+\/a\?/)
  expect(broken.filter((text) => !text.includes('favicon'))).toEqual([])
})

test('bypassed pages show no notices without a session', async ({ serve, shop, page }) => {
  embed(shop)
  const gate = await serve(queue({ quota: 0, rules: [{ action: 'bypass', path: '/free' }, { action: 'queue', path: '/**' }] }))
  const times = keepaliveTimes(page)
  await page.goto(gate.at('shop.localhost', '/free'))
  await expect.poll(() => times.length).toBe(1)
  await moveMouse(page)
  await expect(page.getByRole('heading', { name: 'The shop' })).toBeVisible()
  await expect(page.getByRole('alertdialog')).toHaveCount(0)
  expect(await events(page)).toEqual([])
})
