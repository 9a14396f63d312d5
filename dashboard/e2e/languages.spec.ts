import { expectAccessible } from './axe.ts'
import { expect, signIn, test } from './backoffice.ts'

test('pages and server messages are shown in German', async ({ page, backoffice }) => {
  await backoffice.api.tenant('acme', 'Acme Live')
  await backoffice.api.queue({ id: 'acme-tour', rules: [{ action: 'queue', path: ['/shop/**'] }] })
  await signIn(page, backoffice)
  await page.getByRole('button', { name: 'Account' }).click()
  await page.getByRole('menuitemradio', { name: 'Deutsch' }).click()
  await page.keyboard.press('Escape')
  await expect(page.locator('html')).toHaveAttribute('lang', 'de')
  await expect(page.getByRole('heading', { level: 1, name: 'Übersicht' })).toBeVisible()
  await expect(page).toHaveTitle('Übersicht · Vestibule')
  await page.reload()
  await expect(page.getByRole('heading', { level: 1, name: 'Übersicht' })).toBeVisible()
  await expectAccessible(page, 'overview in German')

  await page.goto(`${backoffice.url}/queues/acme-tour/settings`)
  await page.getByLabel('Zeitlimit für Wartende').fill('4000')
  await page.getByRole('button', { name: 'Prüfen und speichern …' }).click()
  await expect(page.getByText('Erwartet eine ganze Zahl von 3 bis 3.600, nicht 4000.')).toBeVisible()

  await page.goto(`${backoffice.url}/queues/acme-tour/rules`)
  await page.getByLabel('URL', { exact: true }).fill('http://acme-tour.localhost/shop/1')
  await page.getByRole('button', { name: 'Testen', exact: true }).click()
  await expect(page.getByText('Regel 1 passt')).toBeVisible()

  await page.goto(`${backoffice.url}/queues/acme-tour`)
  await page.getByRole('button', { name: 'Mehr' }).click()
  await page.getByRole('menuitem', { name: 'Entfernen' }).click()
  await expect(page.getByRole('dialog')).toContainText('Die Warteschlange „acme-tour“ wird mit 0 wartenden und 0 aktiven Besuchern endgültig entfernt')
})
