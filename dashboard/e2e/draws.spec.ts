import type { components } from '../src/api/schema.d.ts'
import { expect, signIn, test } from './backoffice.ts'
import { addVisitors } from './visitors.ts'

const instant = (seconds: number) => new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')

test('a draw is shown from the lobby to its proof', async ({ page, backoffice }) => {
  const now = Math.floor(Date.now() / 1000)
  const event = { id: 'sale', name: 'Spring sale', lobby_at: instant(now - 120), starts_at: instant(now + 20), ends_at: instant(now + 7200), order: 'draw' as const, draw_seconds: 15, suspended: false }
  await backoffice.api.tenant('acme', 'Acme Live')
  await backoffice.api.queue({ id: 'acme-tour', mode: 'scheduled', quota: 1, events: [event] })
  const visitors = await addVisitors(backoffice, 'acme-tour', 3)
  await signIn(page, backoffice, undefined, '/queues/acme-tour')
  const draw = page.getByRole('region', { name: 'Draw', exact: true })
  const { draw: committed } = await backoffice.api.call<components['schemas']['EventState']>('GET', '/queues/acme-tour/events/sale')

  await test.step('the lobby shows tickets and the commitment', async () => {
    await expect(draw).toContainText('Lobby tickets3')
    await expect(draw).toContainText(committed!.commitment!)
    await expect(draw).not.toContainText('Secret')
  })

  await test.step('another mode is confirmed with its effect on the lobby', async () => {
    await page.getByRole('button', { name: 'Paused', exact: true }).click()
    await expect(page.getByRole('dialog')).toContainText('3 visitors are in the lobby and stay in the draw.')
    await page.keyboard.press('Escape')
  })

  await test.step('nobody is admitted by hand while the order is drawn', async () => {
    await expect(page.getByText('Spring sale: Draw', { exact: true })).toBeVisible({ timeout: 40_000 })
    for (const visitor of visitors) expect((await visitor.status()).position).toBeNull()
    await page.getByLabel('Admit visitors').fill('1')
    await page.getByRole('button', { name: 'Admit …' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Admit 1 visitor' }).click()
    await expect(page.getByRole('dialog')).toContainText('The order of the event is being drawn')
    await page.keyboard.press('Escape')
  })

  await test.step('the proof and drawn numbers are shown after the draw', async () => {
    await expect(draw).toContainText('Secret')
    await expect(draw).toContainText('vestibule verify-draw "https://acme-tour.localhost/_vestibule/line?queue=acme-tour"')
    await page.getByRole('link', { name: 'Visitors' }).last().click()
    await expect(page.getByText(/^Draw: 0\.\d{6}$/).first()).toBeVisible()
  })
})
