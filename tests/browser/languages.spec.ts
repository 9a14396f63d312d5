import { readFileSync } from 'node:fs'

import { pollNow, activeVisitor, part, queue } from './queue.ts'
import { expect, test } from './server.ts'

/** Estimated waits and their texts; the server is tested with the same file. */
const words = JSON.parse(
  readFileSync(new URL('../../crates/themes/tests/wait-words.json', import.meta.url), 'utf8'),
) as Record<string, [p50: number, p90: number, words: string][]>

const headings = {
  'en-GB': ['en', 'You’re in line'],
  'de-AT': ['de', 'Sie stehen in der Schlange'],
  'fr-CA': ['fr', 'Vous êtes dans la file'],
  es: ['es', 'Está en la cola'],
  nl: ['nl', 'U staat in de rij'],
  cy: ['cy', 'Rydych chi yn y ciw'],
  'ja-JP': ['en', 'You’re in line'],
} as const

for (const [locale, [lang, heading]] of Object.entries(headings)) {
  test(`server and script use the language ${lang} for ${locale}`, async ({ serve, browser }) => {
    const gate = await serve(queue())
    const active = await activeVisitor(gate)
    const context = await browser.newContext({ locale })
    const page = await context.newPage()
    await page.goto(gate.at('shop.localhost', '/'))
    await expect(page.locator('html')).toHaveAttribute('lang', lang)
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(heading)
    const drawn = await part(page, 'behind').innerText()
    const answer = page.waitForResponse(/\/_vestibule\/status/)
    await pollNow(page)
    await answer
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(heading)
    await expect(part(page, 'behind')).toHaveText(drawn)
    await active.leave()
    await pollNow(page)
    await expect(part(page, 'enter')).toBeVisible()
    await expect(page.getByRole('heading', { level: 1 })).not.toHaveText(heading)
    await context.close()
  })
}

for (const [lang, rows] of Object.entries(words)) {
  test(`server and script format waits alike: ${lang}`, async ({ serve, browser }) => {
    const gate = await serve(queue())
    await activeVisitor(gate)
    const context = await browser.newContext({ locale: lang })
    const page = await context.newPage()
    await page.goto(gate.at('shop.localhost', '/'))
    await expect(page.locator('html')).toHaveAttribute('lang', lang)
    expect(rows.length).toBeGreaterThan(20)
    // The page polls once for every row.
    const said = await page.evaluate(async (rows) => {
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
      return said
    }, rows)
    expect(said).toEqual(rows.map(([, , words]) => words))
    await context.close()
  })
}
