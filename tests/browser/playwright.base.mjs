// Configuration of all browser tests: of the queue page here, and of the dashboard.
import { systemBrowser } from './chromium.mjs'

export const base = {
  timeout: 60_000,
  expect: { timeout: 10_000 },
  forbidOnly: Boolean(process.env.CI),
  // A pipeline runs a failed test once more, and lists it as flaky.
  retries: process.env.CI ? 1 : 0,
  // Most of a test is waiting, also on two cores.
  workers: 4,
  fullyParallel: true,
  reporter: 'list',
  projects: [
    { name: 'checks', testMatch: '*.spec.ts' },
    { name: 'screenshots', testMatch: '*.screenshots.ts' },
  ],
}

export const use = {
  browserName: /** @type {const} */ ('chromium'),
  locale: 'en-GB',
  timezoneId: 'UTC',
  // Recording takes a quarter of a test's processor time. Elsewhere than in a pipeline, `--trace on` records a failed test.
  trace: /** @type {const} */ ('on-first-retry'),
  launchOptions: {
    executablePath: systemBrowser,
    args: [
      // Containers have no sandbox.
      '--no-sandbox',
      // The browser connects to the servers of the tests only.
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-quic',
      '--disable-sync',
      '--no-first-run',
    ],
  },
}
