import type { Page } from '@playwright/test'

/** A tab that a test can hide. */
export interface Tab {
  hideTab(): void
  showTab(): void
}

/** Lets a test hide the tab and show it again. */
export async function controlVisibility(page: Page, first: 'visible' | 'hidden'): Promise<void> {
  await page.addInitScript((first) => {
    let state = first
    const change = (to: typeof first) => () => {
      state = to
      document.dispatchEvent(new Event('visibilitychange'))
    }
    Object.defineProperty(Document.prototype, 'visibilityState', { get: () => state })
    Object.assign(window, { hideTab: change('hidden'), showTab: change('visible') })
  }, first)
}

/** Hides the tab. */
export const hide = (page: Page) => page.evaluate(() => (window as unknown as Tab).hideTab())
/** Shows the tab again. */
export const show = (page: Page) => page.evaluate(() => (window as unknown as Tab).showTab())
