import { defineConfig } from '@playwright/test'

import { systemBrowser } from '../tests/browser/chromium.mjs'

export default defineConfig({
  testDir: 'e2e',
  outputDir: 'e2e/results',
  timeout: 60_000,
  expect: { timeout: 10_000 },
  forbidOnly: Boolean(process.env.CI),
  retries: 0,
  workers: 2,
  fullyParallel: true,
  reporter: 'list',
  use: {
    browserName: 'chromium',
    viewport: { width: 1280, height: 900 },
    locale: 'en-GB',
    timezoneId: 'UTC',
    trace: 'retain-on-failure',
    launchOptions: {
      executablePath: systemBrowser,
      args: [
        // Containers have none.
        '--no-sandbox',
        // The browser speaks to the tests' servers and to nobody else.
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-quic',
        '--disable-sync',
        '--no-first-run',
      ],
    },
  },
  projects: [
    { name: 'checks', testMatch: '*.spec.ts' },
    { name: 'screenshots', testMatch: '*.screenshots.ts' },
  ],
})
