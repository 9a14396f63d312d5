import { expectAccessible } from './axe.ts'
import { part, queue } from './queue.ts'
import { expect, test } from './server.ts'

const invited = { quota: 0, access: 'invited' }
const wrong = 'This code is not valid for this queue. Check the code and try again.'

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? 'with JavaScript' : 'without JavaScript', () => {
    test.use({ javaScriptEnabled })

    test('the form asks for a code and reports a wrong one', async ({ serve, page }) => {
      const gate = await serve(queue(invited))
      await page.goto(gate.at('shop.localhost', '/a?b=1&c=x%20y'))
      await expect(page.getByRole('heading', { name: 'An invitation is required' })).toBeVisible()
      await expect(part(page, 'position')).toBeHidden()
      await page.getByLabel('Invitation code').fill('0400e0 0000n1 7jyhhp ayv1za')
      await page.getByRole('button', { name: 'Join the line' }).click()
      await expect(page.getByRole('alert')).toHaveText(wrong)
      // Screen readers read the title of a new page, and the field with its description.
      await expect(page).toHaveTitle(`${wrong} · Acme`)
      await expect(page.getByLabel('Invitation code')).toBeFocused()
      const address = new URL(page.url())
      expect(Object.fromEntries(address.searchParams)).toEqual({ b: '1', c: 'x y' })
      await page.reload()
      await expect(page.getByLabel('Invitation code')).toBeVisible()
      await expect(page.getByRole('alert')).toHaveCount(0)
    })
  })
}

test('the form is accessible, also with an error', async ({ serve, page }) => {
  const gate = await serve(queue(invited))
  await page.goto(gate.at('shop.localhost', '/'))
  await expectAccessible(page, 'invitation required')
  await page.keyboard.press('Tab')
  const field = page.getByLabel('Invitation code')
  await field.focus()
  await page.keyboard.type('banana')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('alert')).toHaveText(wrong)
  await expect(field).toHaveAccessibleDescription(wrong)
  await expectAccessible(page, 'wrong code')
})

test('the page joins when anyone can', async ({ serve, page }) => {
  const gate = await serve(queue(invited))
  await page.goto(gate.at('shop.localhost', '/a'))
  await expect(page.getByRole('heading', { name: 'An invitation is required' })).toBeVisible()
  await gate.reload(queue({ quota: 0 }))
  await expect(async () => {
    await page.evaluate(() => window.dispatchEvent(new Event('online')))
    await expect(page.getByRole('heading', { name: 'You’re in line' })).toBeVisible({ timeout: 1000 })
  }).toPass()
})
