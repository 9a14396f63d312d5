// Path of the browser for the tests. As a program, it prints the path or fails; scripts/setup calls it.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const paths = [
  // It has no windows, so it takes half of the processor time.
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

/** The browser of the variable CHROMIUM or of the system; undefined means Playwright's own. */
export const systemBrowser = process.env.CHROMIUM || paths.find((path) => existsSync(path))

async function bundledBrowser() {
  const { chromium } = await import('@playwright/test')
  return chromium.executablePath()
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const browser = systemBrowser ?? (await bundledBrowser())
  if (!existsSync(browser)) process.exit(1)
  console.log(browser)
}
