import { expectAccessible } from './axe.ts'
import { activeVisitor, part, queue } from './queue.ts'
import { expect, test } from './server.ts'

const quick = { waiting_ttl: 6 }
const message = { default: 'Floor tickets are <b>sold out</b> & gone.', de: 'Stehplätze sind ausverkauft.' }

test('the message appears by itself, as text, and goes again', async ({ serve, page }) => {
  const gate = await serve(queue(quick))
  await activeVisitor(gate)
  await page.goto(gate.at('shop.localhost', '/'))
  await expect(part(page, 'position')).toHaveText('1')
  await expect(part(page, 'message')).toBeEmpty()
  await expect(part(page, 'message')).toHaveAttribute('aria-live', 'polite')
  expect((await part(page, 'message').boundingBox())?.height).toBe(0)
  const writes = page.evaluate(
    () =>
      new Promise<number>((done) => {
        let count = 0
        const block = document.querySelector('[data-vestibule="message"]')
        new MutationObserver(() => {
          count += 1
          if (!block?.textContent) done(count)
        }).observe(block as Element, { childList: true, characterData: true, subtree: true })
      }),
  )
  await gate.reload(queue({ ...quick, message }))
  await expect(part(page, 'message')).toHaveText(message.default)
  await expect(part(page, 'message')).toHaveAttribute('lang', '')
  await expect(part(page, 'message').locator('b')).toHaveCount(0)
  await expectAccessible(page, 'message')
  // Polls with the same text announce nothing.
  await page.waitForResponse(/\/_vestibule\/status/)
  await page.waitForResponse(/\/_vestibule\/status/)
  await gate.reload(queue(quick))
  await expect(part(page, 'message')).toBeEmpty()
  expect(await writes).toBe(2)
})

test('the message is shown in the visitor’s language, also when closed', async ({ serve, browser }) => {
  const gate = await serve(queue({ ...quick, mode: 'closed', message }))
  const page = await (await browser.newContext({ locale: 'de-CH' })).newPage()
  await page.goto(gate.at('shop.localhost', '/'))
  await expect(part(page, 'message')).toHaveText(message.de)
  await expect(part(page, 'message')).toHaveAttribute('lang', 'de')
  await expectAccessible(page, 'message of a closed queue')
  const changed = { default: message.default, de: 'Es geht um 12 Uhr weiter.' }
  await gate.reload(queue({ ...quick, mode: 'closed', message: changed }))
  await expect(part(page, 'message')).toHaveText(changed.de)
  await gate.reload(queue({ ...quick, mode: 'closed', message: { default: 'All sold.' } }))
  await expect(part(page, 'message')).toHaveText('All sold.')
  await expect(part(page, 'message')).toHaveAttribute('lang', '')
  await page.context().close()
})

test('the message needs no JavaScript', async ({ serve, browser }) => {
  const gate = await serve(queue({ quota: 0, message }))
  const page = await (await browser.newContext({ javaScriptEnabled: false })).newPage()
  await page.goto(gate.at('shop.localhost', '/'))
  await expect(part(page, 'message')).toHaveText(message.default)
  await page.context().close()
})
