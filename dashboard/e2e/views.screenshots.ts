import { resolve } from 'node:path'

import { signIn, test } from './office.ts'
import { furnish, settled, VIEWS } from './views.ts'

const folder = resolve(import.meta.dirname, 'results/pictures')
const SIZES = { desktop: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } }

for (const [device, size] of Object.entries(SIZES)) {
  for (const scheme of ['light', 'dark'] as const) {
    test(`pictures of every page: ${device}, ${scheme}`, async ({ page, office }) => {
      test.slow()
      await furnish(office)
      await page.setViewportSize(size)
      await page.emulateMedia({ colorScheme: scheme })
      await page.goto(office.url)
      await settled(page)
      await page.screenshot({ path: `${folder}/sign-in-${device}-${scheme}.png` })
      await signIn(page, office)
      for (const [name, path] of Object.entries(VIEWS)) {
        await page.goto(office.url + path)
        await settled(page)
        await page.screenshot({ path: `${folder}/${name}-${device}-${scheme}.png`, fullPage: true })
      }
    })
  }
}
