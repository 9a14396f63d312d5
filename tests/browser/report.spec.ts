import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

import { AxeBuilder } from '@axe-core/playwright'

import { expect, program, test } from './server.ts'

const run = promisify(execFile)
const standard = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

for (const [name, quotas, sentence] of [
  ['a plan', '50', /^All checks passed\. Median wait \d+ (h|min)/],
  ['several plans', '50,100', null],
] as const) {
  test(`the report of ${name} is accessible`, async ({ browser }) => {
    const folder = await mkdtemp(join(tmpdir(), 'report-'))
    const file = join(folder, 'report.html')
    try {
      await run(program, ['plan', '--visitors', '2000', '--arrivals', 'burst:30', '--quota', quotas, '--html', file])
      for (const viewport of [{ width: 390, height: 844 }, { width: 1280, height: 800 }]) {
        const context = await browser.newContext({ viewport })
        const page = await context.newPage()
        await page.goto(pathToFileURL(file).href)
        if (sentence) await expect(page.locator('.result')).toHaveText(sentence)
        const { violations } = await new AxeBuilder({ page }).withTags(standard).analyze()
        expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`)).toEqual([])
        expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
        await context.close()
      }
    } finally {
      await rm(folder, { recursive: true })
    }
  })
}
