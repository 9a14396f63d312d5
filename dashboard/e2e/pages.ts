import type { Page, Request, Response } from '@playwright/test'

import { addVisitors } from './visitors.ts'
import { expect, OPERATOR, VIEWER, type Backoffice } from './backoffice.ts'

/** Paths of all pages by the names of their screenshots. */
export const PAGES: Record<string, string> = {
  overview: '/',
  queue: '/queues/acme-tour',
  calendar: '/calendar',
  'queue-settings': '/queues/acme-tour/settings',
  'queue-rules': '/queues/acme-tour/rules',
  'queue-events': '/queues/acme-tour/events',
  'queue-invitations': '/queues/acme-tour/invitations',
  'queue-protection': '/queues/acme-tour/protection',
  'queue-report': '/queues/acme-tour/report',
  'queue-visitors': '/queues/acme-tour/sessions',
  'queue-log': '/queues/acme-tour/log',
  'queue-integration': '/queues/acme-tour/integration',
  'queue-setup': '/queues/acme-tour/setup',
  'new-queue': '/queues/new',
  'job-queues': '/job-queues',
  'job-queue': '/job-queues/updates.fifo',
  themes: '/themes',
  tenants: '/tenants',
  operators: '/operators',
  'two-factor': '/two-factor',
  tokens: '/tokens',
  audit: '/audit',
  transfer: '/transfer',
  'not-found': '/nothing/here',
}

/** Fills a backoffice with tenants, queues in every mode, waiting visitors and a log. */
export async function seed(backoffice: Backoffice): Promise<void> {
  const { api } = backoffice
  await api.tenant('acme', 'Acme Live')
  await api.tenant('northern', 'Northern Lights')
  await api.tenant('coral', 'Coral Sound')
  const rules = [{ action: 'bypass' as const, path: ['/static/**', '/favicon.ico'] }, { action: 'queue' as const, path: ['/shop/**'], method: ['GET'] }]
  const invitations = [{ number: 1, id: 'fan-club', name: 'Fan club', head_start: 600, count: 5000, revoked: false }]
  await api.queue({ id: 'acme-tour', name: 'World tour 2027', quota: 20, rules, invitations })
  await api.queue({ id: 'northern-winter', name: 'Winter festival', tenant: 'northern', quota: 0 })
  await api.queue({ id: 'northern-presale', name: 'Presale', tenant: 'northern', mode: 'paused', quota: 200 })
  await api.queue({ id: 'coral-club', name: 'Club night', tenant: 'coral', mode: 'closed' })
  const events = [2, 9, 16].map((day) => {
    const at = (seconds: number) => `${new Date(Date.now() + day * 86_400_000 + seconds * 1000).toISOString().slice(0, 19)}Z`
    return { id: `gala-${day}`, name: 'Gala', starts_at: at(0), ends_at: at(7200), order: 'draw' as const, suspended: false }
  })
  await api.queue({ id: 'coral-gala', name: 'Gala', tenant: 'coral', mode: 'scheduled', events })
  await api.queue({ id: 'coral-free', name: 'Free concert', tenant: 'coral', mode: 'bypass' })
  await api.jobQueues(backoffice.site, 'mails', 'updates.fifo')
  await api.operator(OPERATOR, 'operator')
  await api.operator(VIEWER, 'viewer')
  await api.call('POST', '/tokens', { name: 'deploy script', role: 'operator', expires_in: 2_592_000, tenants: ['acme'] })
  await addVisitors(backoffice, 'acme-tour', 60)
  await addVisitors(backoffice, 'northern-winter', 15)
  await addVisitors(backoffice, 'northern-presale', 25)
  await api.call('PATCH', '/queues/acme-tour/controls', { admissions_per_minute: 120 })
}

/** Opens a page and waits until its data is shown: no request is unanswered except streams. */
export async function open(page: Page, url: string): Promise<void> {
  const unanswered = new Set<Request>()
  const add = (request: Request) => void unanswered.add(request)
  const remove = (request: Request) => void unanswered.delete(request)
  const removeStream = (response: Response) => {
    if (response.headers()['content-type']?.startsWith('text/event-stream')) remove(response.request())
  }
  page.on('request', add).on('requestfinished', remove).on('requestfailed', remove).on('response', removeStream)
  await page.goto(url)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await expect(async () => {
    await waitUntilDrawn(page)
    expect([...unanswered].map((request) => request.url())).toEqual([])
  }).toPass({ intervals: [0], timeout: 10_000 })
  await expect(page.getByText('Loading', { exact: true })).toHaveCount(0)
  page.off('request', add).off('requestfinished', remove).off('requestfailed', remove).off('response', removeStream)
}

/** Waits until the page has shown its last changes. */
export async function waitUntilDrawn(page: Page): Promise<void> {
  await page.evaluate(() => new Promise<void>((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn()))))
}
