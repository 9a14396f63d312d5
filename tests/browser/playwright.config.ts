import { defineConfig } from '@playwright/test'

import { base, use } from './playwright.base.mjs'

export default defineConfig({ ...base, testDir: '.', outputDir: 'results', use })
