import type { Page } from '@playwright/test'

import type { Backoffice } from './backoffice.ts'

/** Collects violations of the security policy, other errors, and requests to other servers from now on. */
export async function watchPolicy(page: Page, backoffice: Backoffice): Promise<string[]> {
  const complaints: string[] = []
  page.on('console', (message) => message.type() === 'error' && !message.text().startsWith('Failed to load resource') && complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('request', (request) => !request.url().startsWith(backoffice.url) && complaints.push(request.url()))
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => console.error(`policy: ${violatedDirective} ${blockedURI}`))
  })
  return complaints
}
