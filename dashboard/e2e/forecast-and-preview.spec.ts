import { AxeBuilder } from '@axe-core/playwright'

import { expect, signIn, test } from './backoffice.ts'
import { seed } from './pages.ts'

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

test('the slider forecasts the line at another quota', async ({ page, backoffice }) => {
  await seed(backoffice)
  await backoffice.api.call('PATCH', '/queues/acme-tour/controls', { admissions_per_minute: null })
  await signIn(page, backoffice, undefined, '/queues/acme-tour')
  await page.getByText('What if the quota were different?').click()
  const slider = page.getByRole('slider', { name: 'Quota' })
  const output = page.locator('output')
  await expect(output).toContainText('The last of 40 waiting visitors waits')
  await slider.focus()
  for (let i = 0; i < 5; i++) await page.keyboard.press('ArrowRight')
  await expect(output).toContainText('5 visitors are admitted at once.')
  expect((await new AxeBuilder({ page }).withTags(RULES).analyze()).violations).toEqual([])
  expect((await backoffice.api.settings('acme-tour')).quota).toBe(20)
  await page.getByRole('button', { name: 'Set quota to 25 …' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Set quota to 25' }).click()
  await expect(page.getByText('The last of 35 waiting visitors waits')).toBeVisible()
})

test('the form of an event previews the queue page', async ({ page, backoffice }) => {
  await seed(backoffice)
  await signIn(page, backoffice, undefined, '/queues/acme-tour/events')
  await page.getByRole('button', { name: 'Add an event' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('Spring sale')
  await dialog.getByText('Preview', { exact: true }).first().click()
  const shown = dialog.frameLocator('iframe')
  await expect(shown.getByRole('heading', { level: 1 })).toHaveText(/^Start of Spring sale: .* UTC$/)
  await expect(shown.getByText('about 30 minutes')).toBeVisible()
  expect((await new AxeBuilder({ page }).withTags(RULES).exclude('iframe').analyze()).violations).toEqual([])
  await dialog.getByRole('radio', { name: 'At the start' }).check()
  await expect(shown.getByRole('heading', { level: 1 })).toHaveText('You’re in line')
  await dialog.getByRole('radio', { name: 'After admission' }).check()
  await expect(shown.getByRole('heading', { level: 1 })).toHaveText('It’s your turn')
})
