// Which browser the tests drive. Run by itself, it prints it, or fails if there is none: scripts/setup asks.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const places = [
  '/usr/bin/chromium',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

/** The system's browser, or what CHROMIUM names; undefined means Playwright's own. */
export const systemBrowser = process.env.CHROMIUM || places.find((place) => existsSync(place))

async function playwrightsOwn() {
  const { chromium } = await import('@playwright/test')
  return chromium.executablePath()
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const browser = systemBrowser ?? (await playwrightsOwn())
  if (!existsSync(browser)) process.exit(1)
  console.log(browser)
}
