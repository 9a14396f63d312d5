import { resolve } from 'node:path'

import type { Page } from '@playwright/test'

import { expectAccessible } from './axe.ts'
import { expect, OPERATOR, signIn, test, VIEWER } from './backoffice.ts'

const pictures = resolve(import.meta.dirname, 'results/pictures')
const dialog = (page: Page) => page.getByRole('dialog')

/** Checks the page at the width of a desktop and of a phone. */
async function check(page: Page, name: string): Promise<void> {
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 900 })
    await expectAccessible(page, `${name}, ${width} pixels wide`)
    const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
    expect.soft(over, `${name} is wider than ${width} pixels`).toBeLessThanOrEqual(0)
    await page.screenshot({ path: `${pictures}/${name}-${width}.png`, fullPage: true })
  }
}

test('an operator pauses a job queue and follows a test job', async ({ page, backoffice }) => {
  await backoffice.api.tenant('acme', 'Acme Live')
  await backoffice.api.operator(OPERATOR, 'operator')
  await signIn(page, backoffice, OPERATOR)
  const link = page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Job queues' })

  await test.step('the link appears only where there are job queues', async () => {
    await expect(page.getByRole('link', { name: 'Tenants' })).toBeVisible()
    await expect(link).toHaveCount(0)
    await page.goto(`${backoffice.url}/job-queues`)
    await expect(page.getByRole('heading', { name: 'No job queues yet' })).toBeVisible()
    await backoffice.api.jobQueues(backoffice.site, 'mails', 'updates.fifo')
    await page.goto(backoffice.url)
    await link.click()
    await expect(page.getByRole('rowheader', { name: 'updates.fifo' })).toBeVisible()
  })
  await test.step('a job queue is paused', async () => {
    await page.getByRole('button', { name: 'Pause updates.fifo' }).click()
    await expect(page.getByText('updates.fifo is paused. It accepts jobs and starts none.')).toBeVisible()
    await expect(page.getByRole('row', { name: 'updates.fifo' })).toContainText('Paused')
    await check(page, 'job-queues')
  })
  await test.step('a test job is sent and shown', async () => {
    await page.getByRole('link', { name: 'updates.fifo' }).click()
    await page.getByRole('button', { name: 'Send a test job' }).click()
    await dialog(page).getByLabel('Group').fill('user 17')
    await dialog(page).getByRole('button', { name: 'Send', exact: true }).click()
    await expect(dialog(page).getByRole('alert')).toContainText('Group must be 1 to 100 printable ASCII characters')
    await dialog(page).getByLabel('Group').fill('user-17')
    await dialog(page).getByLabel('Payload').fill('{"email":')
    await dialog(page).getByRole('button', { name: 'Send', exact: true }).click()
    await expect(dialog(page).getByRole('alert')).toContainText("cannot be read as JSON")
    await dialog(page).getByLabel('Payload').fill('{"email":"ada@example.com"}')
    await check(page, 'test-job')
    await dialog(page).getByRole('button', { name: 'Send', exact: true }).click()
    await expect(dialog(page)).toBeHidden()
    const job = page.locator('.job')
    await expect(job).toContainText('Queued')
    await expect(job).toContainText('user-17')
    await expect(job).toContainText('"email": "ada@example.com"')
    await expect(page.getByRole('region', { name: 'Statistics' }).locator('.card').first()).toHaveText('Waiting1')
  })
  await test.step('the job has an address', async () => {
    const id = await page.getByLabel('Job ID').inputValue()
    await expect(page).toHaveURL(`${backoffice.url}/job-queues/updates.fifo?job=${id}`)
    await page.reload()
    await expect(page.locator('.job')).toContainText('user-17')
  })
  await test.step('the signing secret is shown after a click', async () => {
    await expect(page.getByText(/whsec_/)).toHaveCount(0)
    await page.getByRole('button', { name: 'Show signing secret' }).click()
    await expect(page.getByText(/^whsec_/)).toBeVisible()
    await check(page, 'job-queue')
  })
  await test.step('the job is followed until the handler has acknowledged it', async () => {
    await page.getByRole('button', { name: 'Resume updates.fifo' }).click()
    await expect(page.locator('.job .facts').getByRole('status')).toHaveText('Completed')
    await expect(page.getByRole('region', { name: 'Attempts' }).getByRole('row').last()).toContainText('Completed200')
    await expect(page.locator('.job')).toContainText('The payload of a completed job is not kept.')
    await check(page, 'completed-job')
  })
  await test.step('the audit log has the actions', async () => {
    await page.goto(`${backoffice.url}/audit`)
    await expect(page.getByText('read the signing secret of the job queue')).toBeVisible()
    await expect(page.getByText('paused the job queue')).toBeVisible()
    await expect(page.getByText('resumed the job queue')).toBeVisible()
  })
})

test('an operator cancels, drains, replays and deletes jobs', async ({ page, backoffice }) => {
  await backoffice.api.jobQueues(backoffice.site, 'mails')
  await backoffice.api.operator(OPERATOR, 'operator')
  await backoffice.api.call('POST', '/job-queues/mails/pause')
  // Meanwhile the worker learns of the pause.
  await signIn(page, backoffice, OPERATOR, '/job-queues/mails')
  for (const number of [1, 2, 3]) await backoffice.api.call('POST', '/job-queues/mails/jobs', { number })
  const waiting = page.getByRole('region', { name: 'Statistics' }).locator('.card').first()
  await test.step('a job is canceled', async () => {
    const { job_id: id } = (await backoffice.api.call('POST', '/job-queues/mails/jobs', { number: 4 })) as { job_id: string }
    await page.getByLabel('Job ID').fill(id)
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('button', { name: 'Cancel job' }).click()
    await dialog(page).getByRole('button', { name: 'Cancel job' }).click()
    await expect(page.getByText(`Job ${id} is canceled.`)).toBeVisible()
    await expect(waiting).toHaveText('Waiting3')
  })
  await test.step('the waiting jobs are deleted', async () => {
    await page.getByRole('button', { name: 'Actions' }).click()
    await page.getByRole('menuitem', { name: 'Delete waiting jobs' }).click()
    await expect(dialog(page)).toContainText('All waiting jobs of the job queue "mails" (3)')
    await dialog(page).getByRole('button', { name: 'Delete waiting jobs' }).click()
    await expect(page.getByText('3 waiting jobs are deleted.')).toBeVisible()
    await expect(waiting).toHaveText('Waiting0')
  })
})

test('an operator creates, changes and removes a job queue', async ({ page, backoffice }) => {
  await backoffice.api.jobQueues(backoffice.site, 'mails')
  await backoffice.api.operator(OPERATOR, 'operator')
  await signIn(page, backoffice, OPERATOR, '/job-queues')
  await test.step('a handler elsewhere is refused', async () => {
    await page.getByRole('button', { name: 'Create job queue' }).click()
    await dialog(page).getByLabel('ID').fill('exports')
    await dialog(page).getByLabel('Address of the handler').fill('https://elsewhere.example/jobs')
    await dialog(page).getByRole('button', { name: 'Create job queue' }).click()
    await expect(dialog(page).getByLabel('Address of the handler')).toHaveAttribute('aria-invalid', 'true')
    await check(page, 'job-queue-form')
  })
  await test.step('a job queue is created', async () => {
    await dialog(page).getByLabel('Address of the handler').fill(`${backoffice.site}/jobs`)
    await dialog(page).getByRole('button', { name: 'Create job queue' }).click()
    await expect(page.getByRole('heading', { name: 'exports', level: 1 })).toBeVisible()
  })
  await test.step('its settings are changed', async () => {
    await page.getByRole('button', { name: 'Actions' }).click()
    await page.getByRole('menuitem', { name: 'Edit settings' }).click()
    await dialog(page).getByLabel('Jobs at a time').fill('20')
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await expect(page.getByText('Settings of exports saved.')).toBeVisible()
    await expect(page.getByRole('region', { name: 'Settings' })).toContainText('Jobs at a time20')
  })
  await test.step('its signing secret is rotated', async () => {
    await page.getByRole('button', { name: 'Rotate signing secret' }).click()
    await dialog(page).getByRole('button', { name: 'Rotate signing secret' }).click()
    await expect(page.getByText(/^whsec_/)).toBeVisible()
    await expect(page.getByText('The previous secret also signs calls until')).toBeVisible()
  })
  await test.step('it is removed', async () => {
    await page.getByRole('button', { name: 'Actions' }).click()
    await page.getByRole('menuitem', { name: 'Remove' }).click()
    await dialog(page).getByRole('textbox').fill('exports')
    await dialog(page).getByRole('button', { name: 'Remove' }).click()
    await expect(page.getByText('exports removed.')).toBeVisible()
    await expect(page.getByRole('rowheader', { name: 'mails' })).toBeVisible()
    await expect(page.getByRole('rowheader', { name: 'exports' })).toHaveCount(0)
  })
})

test('an operator adds, runs, changes and removes a schedule', async ({ page, backoffice }) => {
  await backoffice.api.jobQueues(backoffice.site, 'updates.fifo')
  await backoffice.api.operator(OPERATOR, 'operator')
  await signIn(page, backoffice, OPERATOR, '/job-queues/updates.fifo')
  const schedules = page.getByRole('region', { name: 'Schedules' })
  await test.step('times that are none are refused', async () => {
    await page.getByRole('button', { name: 'Actions' }).click()
    await page.getByRole('menuitem', { name: 'Add schedule' }).click()
    await dialog(page).getByLabel('ID').fill('nightly')
    await dialog(page).getByLabel('Times').fill('30 25 * * *')
    await dialog(page).getByLabel('Group').fill('import')
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await expect(dialog(page).getByLabel('Times')).toHaveAttribute('aria-invalid', 'true')
    await check(page, 'schedule-form')
  })
  await test.step('a schedule is added', async () => {
    await dialog(page).getByLabel('Times').fill('30 4 * * *')
    await dialog(page).getByLabel('Time zone').selectOption('Europe/Berlin')
    await dialog(page).getByLabel('Payload').fill('{"full":true}')
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await expect(page.getByText('Settings of updates.fifo saved.')).toBeVisible()
    const row = schedules.getByRole('row', { name: 'nightly' })
    await expect(row).toContainText('30 4 * * *')
    await expect(row).toContainText('Europe/Berlin')
    await check(page, 'schedules')
  })
  await test.step('it runs now', async () => {
    await page.getByRole('button', { name: 'Run nightly now' }).click()
    await expect(page.getByText(/^Job \w+ of nightly is queued\.$/)).toBeVisible()
    const job = page.locator('.job')
    await expect(job).toContainText('import')
    await expect(job.locator('.facts').getByRole('status')).toHaveText('Completed')
  })
  await test.step('its times are changed', async () => {
    await page.getByRole('button', { name: 'Edit schedule nightly' }).click()
    await expect(dialog(page).getByLabel('Payload')).toHaveValue('{"full":true}')
    await dialog(page).getByLabel('Times').fill('@hourly')
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await expect(schedules.getByRole('row', { name: 'nightly' })).toContainText('@hourly')
  })
  await test.step('it is removed', async () => {
    await page.getByRole('button', { name: 'Remove schedule nightly' }).click()
    await dialog(page).getByRole('button', { name: 'Remove' }).click()
    await expect(page.getByText('Schedule nightly removed.')).toBeVisible()
    await expect(schedules).toHaveCount(0)
  })
})

test('an operator selects, tests and removes webhook events', async ({ page, backoffice }) => {
  await backoffice.api.jobQueues(backoffice.site, 'hooks')
  await backoffice.api.operator(OPERATOR, 'operator')
  await signIn(page, backoffice, OPERATOR, '/job-queues/hooks')
  const webhook = page.getByRole('region', { name: 'Webhook' })
  await test.step('a queue that cannot exist is refused', async () => {
    await page.getByRole('button', { name: 'Actions' }).click()
    await page.getByRole('menuitem', { name: 'Edit webhook' }).click()
    await dialog(page).getByLabel('A queue was reset').check()
    await dialog(page).getByLabel('A job became a dead letter').check()
    await dialog(page).getByLabel('Queues').fill('World tour')
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await expect(dialog(page).getByLabel('Queues')).toHaveAttribute('aria-invalid', 'true')
    await check(page, 'webhook-form')
  })
  await test.step('events are chosen', async () => {
    await dialog(page).getByLabel('Queues').fill('acme-tour')
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await expect(page.getByText('Settings of hooks saved.')).toBeVisible()
    await expect(webhook).toContainText('A queue was reset')
    await expect(webhook).toContainText('acme-tour')
    await check(page, 'webhook')
  })
  await test.step('a test event is delivered', async () => {
    await webhook.getByRole('button', { name: 'Send test event' }).click()
    await expect(page.getByText(/^Test event \w+ is queued\.$/)).toBeVisible()
    await expect(page.locator('.job .facts').getByRole('status')).toHaveText('Completed')
  })
  await test.step('the events are changed', async () => {
    await webhook.getByRole('button', { name: 'Edit webhook' }).click()
    await expect(dialog(page).getByLabel('A queue was reset')).toBeChecked()
    await dialog(page).getByLabel('A queue was reset').uncheck()
    await dialog(page).getByLabel('Queues').fill('*')
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await expect(webhook).toContainText('All queues of the tenant')
    await expect(webhook).not.toContainText('A queue was reset')
  })
  await test.step('without events there is no webhook', async () => {
    await webhook.getByRole('button', { name: 'Edit webhook' }).click()
    await dialog(page).getByLabel('A job became a dead letter').uncheck()
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await expect(webhook).toHaveCount(0)
  })
})

test('viewers see statistics of job queues only', async ({ page, backoffice }) => {
  await backoffice.api.jobQueues(backoffice.site, 'updates.fifo')
  await backoffice.api.operator(VIEWER, 'viewer')
  await signIn(page, backoffice, VIEWER, '/job-queues')
  const main = page.getByRole('main')
  await page.getByRole('link', { name: 'updates.fifo' }).click()
  await expect(main.getByRole('heading', { name: 'Settings' })).toBeVisible()
  await expect(main).toContainText(`${backoffice.site}/jobs`)
  await expect(main.getByRole('button')).toHaveCount(0)
  await expect(main.getByRole('textbox')).toHaveCount(0)
})
