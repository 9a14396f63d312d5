import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { queue } from './queue.ts'
import { expect, test } from './server.ts'

const svg = (size: string) => `<svg xmlns="http://www.w3.org/2000/svg" ${size}><rect width="100%" height="100%" fill="#7a1fa2"/></svg>`
/** Logos and their expected sizes: at most 56 pixels high and 256 wide. */
const LOGOS = [
  { name: 'an SVG with a view box and no size', content: svg('viewBox="0 0 200 50"'), width: 224, height: 56 },
  { name: 'an SVG that is too wide', content: svg('viewBox="0 0 1000 50"'), width: 256, height: 56 },
  { name: 'an SVG with neither', content: svg(''), width: 256, height: 56 },
  { name: 'an SVG with a size', content: svg('width="100" height="400" viewBox="0 0 100 400"'), width: 14, height: 56 },
]

for (const { name, content, width, height } of LOGOS) {
  test(`${name} is drawn as a logo`, async ({ serve, page }) => {
    const themes = await mkdtemp(join(tmpdir(), 'vestibule-logo-'))
    await mkdir(join(themes, 'acme'))
    await writeFile(join(themes, 'acme/logo.svg'), content)
    const gate = await serve(queue({ quota: 0, theme: 'acme' }, { tenant: { logo: 'logo.svg' } }), ['--themes', themes])
    for (const size of [{ width: 390, height: 844 }, { width: 1280, height: 800 }]) {
      await page.setViewportSize(size)
      await page.goto(gate.at('shop.localhost', '/'))
      const logo = page.locator('img.logo')
      await expect(logo).toHaveJSProperty('complete', true)
      const box = await logo.boundingBox()
      expect({ width: Math.round(box?.width ?? 0), height: Math.round(box?.height ?? 0) }).toEqual({ width, height })
    }
    await rm(themes, { recursive: true })
  })
}
