import { resolve } from 'node:path'

import { signIn, test } from './backoffice.ts'
import { open, seed, PAGES } from './pages.ts'

const folder = resolve(import.meta.dirname, 'results/pictures')
const SIZES = { desktop: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } }

for (const [device, size] of Object.entries(SIZES)) {
  for (const scheme of ['light', 'dark'] as const) {
    test(`screenshots of every page: ${device}, ${scheme}`, async ({ page, backoffice }) => {
      test.slow()
      await seed(backoffice)
      await page.setViewportSize(size)
      await page.emulateMedia({ colorScheme: scheme })
      await open(page, backoffice.url)
      await page.screenshot({ path: `${folder}/sign-in-${device}-${scheme}.png` })
      await signIn(page, backoffice)
      for (const [name, path] of Object.entries(PAGES)) {
        await open(page, backoffice.url + path)
        await page.screenshot({ path: `${folder}/${name}-${device}-${scheme}.png`, fullPage: true })
      }
    })
  }
}
