import { defineConfig } from '@playwright/test'

import { base, use } from '../tests/browser/playwright.base.mjs'

export default defineConfig({
  ...base,
  testDir: 'e2e',
  outputDir: 'e2e/results',
  use: { ...use, locale: 'en-GB', viewport: { width: 1280, height: 900 } },
})
