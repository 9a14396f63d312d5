import { readFileSync } from 'node:fs'

import type { Page } from '@playwright/test'

import { expectAccessible } from './axe.ts'
import { addVisitors, brands, eventIn, pollNow, activeVisitor, overrideStatus, part, queue } from './queue.ts'
import { expect, test } from './server.ts'

/** Estimated waits and their texts; the server is tested with the same file. */
const words = JSON.parse(
  readFileSync(new URL('../../crates/themes/tests/wait-words.json', import.meta.url), 'utf8'),
) as Record<string, [p50: number, p90: number, words: string][]>

/** 1, 999, 1234, 12345 and 1234567 as the server writes them; its tests have the same. */
const numbers: Record<string, string[]> = {
  en: ['1', '999', '1,234', '12,345', '1,234,567'],
  es: ['1', '999', '1234', '12.345', '1.234.567'],
  fr: ['1', '999', '1\u202f234', '12\u202f345', '1\u202f234\u202f567'],
  pl: ['1', '999', '1234', '12\u00a0345', '1\u00a0234\u00a0567'],
  tr: ['1', '999', '1.234', '12.345', '1.234.567'],
  ar: ['1', '999', '1,234', '12,345', '1,234,567'],
  ja: ['1', '999', '1,234', '12,345', '1,234,567'],
  ko: ['1', '999', '1,234', '12,345', '1,234,567'],
  'zh-Hant': ['1', '999', '1,234', '12,345', '1,234,567'],
}

const headings = {
  'en-GB': ['en', 'You’re in line'],
  'de-AT': ['de', 'Sie stehen in der Schlange'],
  'fr-CA': ['fr', 'Vous êtes dans la file'],
  es: ['es', 'Está en la cola'],
  nl: ['nl', 'U staat in de rij'],
  cy: ['cy', 'Rydych chi yn y ciw'],
  'pt-BR': ['pt', 'Você está na fila'],
  it: ['it', 'È in coda'],
  pl: ['pl', 'Jesteś w kolejce'],
  tr: ['tr', 'Sıradasınız'],
  'ar-EG': ['ar', 'أنت في قائمة الانتظار'],
  'ja-JP': ['ja', '順番をお待ちください'],
  ko: ['ko', '대기 중입니다'],
  'zh-CN': ['zh-Hans', '您正在排队'],
  'zh-TW': ['zh-Hant', '您正在排隊'],
  sv: ['en', 'You’re in line'],
} as const

/** The page's estimated wait, as its script writes each of these rows. The page polls once for every row. */
function writtenWaits(page: Page, rows: [p50: number, p90: number, words: string][]): Promise<(string | null | undefined)[]> {
  return page.evaluate(async (rows) => {
    const own = window.fetch
    const said: (string | null | undefined)[] = []
    for (const [p50, p90] of rows) {
      window.fetch = async (...given) => {
        const status = await (await own(...given)).json()
        return Response.json({ ...status, wait_seconds: { p50, p90 } })
      }
      const wait = document.querySelector('[data-vestibule="wait"]')
      if (wait) wait.textContent = ''
      const written = new Promise<void>((done) => {
        const observer = new MutationObserver(() => {
          if (!wait?.textContent) return
          observer.disconnect()
          done()
        })
        if (wait) observer.observe(wait, { childList: true })
      })
      dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))
      await written
      said.push(wait?.textContent)
    }
    window.fetch = own
    return said
  }, rows)
}

/** Numbers as the browser writes them in the page's language. */
function writtenNumbers(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const format = new Intl.NumberFormat(document.documentElement.lang, { numberingSystem: 'latn' })
    return [1, 999, 1234, 12_345, 1_234_567].map((n) => format.format(n))
  })
}

test('every language is tested', () => {
  expect(new Set(Object.values(headings).map(([lang]) => lang))).toEqual(new Set(Object.keys(words)))
})

const locales = Object.keys(headings) as (keyof typeof headings)[]

for (const some of [locales.slice(0, 4), locales.slice(4, 8), locales.slice(8, 12), locales.slice(12)]) {
  test(`server and script agree on language, waits and numbers: ${some.join(', ')}`, async ({ serve, browser }) => {
    // Each language has a queue of its own, where one visitor is active.
    const gate = await serve(brands(Object.fromEntries(some.map((locale) => [locale.toLowerCase(), {}]))))
    for (const locale of some) {
      const [lang, heading] = headings[locale]
      const [id, host] = [locale.toLowerCase(), `${locale.toLowerCase()}.localhost`]
      const active = await activeVisitor(gate, host, id)
      const context = await browser.newContext({ locale })
      const page = await context.newPage()
      await page.goto(gate.at(host, '/'))
      await expect(page.locator('html')).toHaveAttribute('lang', lang)
      await expect(page.getByRole('heading', { level: 1 })).toHaveText(heading)
      const drawn = await part(page, 'behind').innerText()
      const answer = page.waitForResponse(/\/_vestibule\/status/)
      await pollNow(page)
      await answer
      await expect(page.getByRole('heading', { level: 1 })).toHaveText(heading)
      await expect(part(page, 'behind')).toHaveText(drawn)

      const rows = words[lang] ?? []
      expect(rows.length, locale).toBeGreaterThan(20)
      expect(await writtenWaits(page, rows), locale).toEqual(rows.map(([, , words]) => words))
      if (numbers[lang]) expect(await writtenNumbers(page), locale).toEqual(numbers[lang])

      await active.leave()
      await pollNow(page)
      await expect(part(page, 'enter')).toBeVisible()
      await expect(page.getByRole('heading', { level: 1 })).not.toHaveText(heading)
      await context.close()
    }
  })
}

test('a language is chosen without JavaScript and kept', async ({ serve, browser }) => {
  const gate = await serve(queue())
  await activeVisitor(gate)
  const context = await browser.newContext({ javaScriptEnabled: false, locale: 'de' })
  const page = await context.newPage()
  await page.goto(gate.at('shop.localhost', '/a?b=1&c=%20'))
  const code = await page.getByText('Support-Code').locator('code').innerText()
  await page.getByLabel('Sprache').selectOption('العربية')
  await page.getByRole('button', { name: 'Ändern' }).click()
  await expect(page.locator('html')).toHaveAttribute('dir', 'rtl')
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('أنت في قائمة الانتظار')
  expect(page.url()).toBe(gate.at('shop.localhost', '/a?b=1&c=%20'))
  expect(await page.getByText('رمز الدعم').locator('code').innerText()).toBe(code)
  await page.goto(gate.at('shop.localhost', '/'))
  await expect(page.getByLabel('اللغة')).toHaveValue('ar')
  await context.close()
})

test('a chosen language keeps fragment and position', async ({ serve, page }) => {
  const gate = await serve(queue({ message: { default: 'Sold out.', ja: '完売しました。' } }))
  await activeVisitor(gate)
  await page.goto(gate.at('shop.localhost', '/a#row-7'))
  const [younger] = await addVisitors(gate, 1)
  const beacons: string[] = []
  page.on('request', (request) => request.url().includes('/away') && beacons.push(request.url()))
  await page.getByLabel('Language').selectOption('日本語')
  await page.getByRole('button', { name: 'Change' }).click()
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('順番をお待ちください')
  expect(page.url()).toBe(gate.at('shop.localhost', '/a#row-7'))
  await expect(part(page, 'message')).toHaveText('完売しました。')
  // The next poll is answered in the same language.
  await page.waitForResponse(/\/_vestibule\/status/)
  await expect(part(page, 'behind')).toHaveText('1 人')
  await expect(part(page, 'message')).toHaveText('完売しました。')
  expect(await younger?.status()).toMatchObject({ position: 2 })
  expect(beacons).toEqual([])
})

test('a language chosen on a first visit keeps the address', async ({ serve, page }) => {
  const gate = await serve(queue({ quota: 0, protection: { pre_ticket_from: 0 } }))
  await page.goto(gate.at('shop.localhost', '/a?b=1'))
  await expect(part(page, 'position')).toHaveText('1')
  await page.getByLabel('Language').selectOption('Deutsch')
  await page.getByRole('button', { name: 'Change' }).click()
  await expect(page.locator('html')).toHaveAttribute('lang', 'de')
  expect(page.url()).toBe(gate.at('shop.localhost', '/a?b=1'))
})

for (const locale of ['ar', 'ja']) {
  test(`pages are accessible: ${locale}`, async ({ serve, browser }) => {
    const gate = await serve(queue({ quota: 0, message: { default: 'Sold out.' } }))
    // No color depends on the language.
    const context = await browser.newContext({ locale, colorScheme: 'light', reducedMotion: 'reduce', viewport: { width: 390, height: 844 } })
    const page = await context.newPage()
    await overrideStatus(page, { wait_seconds: { p50: 240, p90: 360 } })
    await page.goto(gate.at('shop.localhost', '/'))
    await expect(part(page, 'wait-row')).toBeVisible()
    await expectAccessible(page, `${locale}, waiting`)
    await gate.reload(queue({ mode: 'closed' }))
    await expect(part(page, 'position-section')).toHaveCount(0)
    await expectAccessible(page, `${locale}, closed`)
    await context.close()
  })
}

test('progress grows from the right in Arabic', async ({ serve, browser }) => {
  const gate = await serve(queue({ quota: 0 }))
  const context = await browser.newContext({ locale: 'ar', reducedMotion: 'reduce' })
  const page = await context.newPage()
  await page.goto(gate.at('shop.localhost', '/'))
  const bar = part(page, 'progress')
  const go = (to: number) => bar.evaluate((el: HTMLProgressElement, to) => Object.assign(el, { hidden: false, value: to }), to)
  await go(0.5)
  const box = await bar.boundingBox()
  if (!box) throw new Error('no bar')
  const at = (share: number) => page.screenshot({ clip: { x: box.x + box.width * share, y: box.y + box.height / 2, width: 4, height: 2 } })
  const [left, right] = [await at(0.25), await at(0.75)]
  await go(1)
  expect((await at(0.75)).equals(right)).toBe(true)
  expect((await at(0.25)).equals(left)).toBe(false)
  await context.close()
})

test('times in Welsh need no data of the browser', async ({ serve, browser }) => {
  const gate = await serve(queue({ mode: 'scheduled', events: [eventIn(72_000)] }))
  const context = await browser.newContext({ locale: 'cy', reducedMotion: 'reduce' })
  const page = await context.newPage()
  await page.goto(gate.at('shop.localhost', '/'))
  await expect(part(page, 'heading')).toHaveText(/^Spring sale yn dechrau: (\d+ \w+ \d{4}, )?\d\d:\d\d$/)
  await expect(part(page, 'countdown')).toHaveText(/^(19|20):\d\d:00$/)
  await context.close()
})

test('times have Latin digits in Arabic', async ({ serve, browser }) => {
  const gate = await serve(queue())
  const active = await activeVisitor(gate)
  const context = await browser.newContext({ locale: 'ar-EG' })
  const page = await context.newPage()
  await page.addInitScript(() => Object.defineProperty(Document.prototype, 'visibilityState', { get: () => 'hidden' }))
  await page.goto(gate.at('shop.localhost', '/'))
  await active.leave()
  await expect(part(page, 'lead')).toHaveText(/^دورك محجوز حتى الساعة \u2068\d+:\d\d\s\S\u2069\. تابع/)
  await context.close()
})
