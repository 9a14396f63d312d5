import { expectAccessible } from './axe.ts'
import { expect, signIn, test, VIEWER } from './backoffice.ts'

test('protection is shown, and attack mode started and ended by keyboard', async ({ page, backoffice }) => {
  await backoffice.api.tenant('acme', 'Acme Live')
  await backoffice.api.queue({ id: 'acme-tour', name: 'World tour' })
  await signIn(page, backoffice, undefined, '/queues/acme-tour/protection')
  await expect(page.getByText('First visits that did not come back')).toBeVisible()
  await expectAccessible(page, 'protection')

  await test.step('a slider is moved by keyboard', async () => {
    const slider = page.getByRole('slider', { name: 'Limit per address' })
    await slider.focus()
    await page.keyboard.press('Home')
    await expect(slider).toHaveAttribute('aria-valuetext', '1 join in 10 minutes')
  })

  await test.step('attack mode starts after a confirmation', async () => {
    await page.getByRole('button', { name: 'Start attack mode' }).press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Start attack mode?' })
    await expect(dialog).toContainText('First visits that did not come back')
    await expectAccessible(page, 'the confirmation')
    await dialog.getByRole('button', { name: 'Start attack mode' }).press('Enter')
    await expect(page.getByText('Attack mode is on')).toBeVisible()
  })

  await test.step('it ends early', async () => {
    await page.getByRole('button', { name: 'End now' }).press('Enter')
    await expect(page.getByText('Attack mode is on')).toBeHidden()
  })
})

test('viewers see protection and change nothing', async ({ page, backoffice }) => {
  await backoffice.api.tenant('acme', 'Acme Live')
  await backoffice.api.queue({ id: 'acme-tour', name: 'World tour' })
  await backoffice.api.operator(VIEWER, 'viewer')
  await signIn(page, backoffice, VIEWER, '/queues/acme-tour/protection')
  await expect(page.getByText('First visits that did not come back')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Start attack mode' })).toBeHidden()
})
