import { deflateRawSync } from 'node:zlib'

import type { Page } from '@playwright/test'

import { expectAccessible } from './axe.ts'
import { expect, OPERATOR, signIn, test, type Backoffice } from './backoffice.ts'

const SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 60"><rect width="200" height="60" fill="#7a1fa2"/></svg>'
const frame = (page: Page) => page.frameLocator('iframe')

async function prepare({ api }: Backoffice): Promise<void> {
  await api.tenant('acme', 'Acme Live')
  await api.queue({ id: 'acme-tour', name: 'World tour', theme: 'acme', hosts: ['acme-tour.localhost'] })
  await api.operator(OPERATOR, 'operator')
}

test('a theme is created, previewed, activated and deactivated', async ({ page, backoffice }) => {
  test.slow()
  await prepare(backoffice)
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => console.error(`policy: ${violatedDirective} ${blockedURI}`))
  })
  const violations: string[] = []
  page.on('console', (message) => message.text().startsWith('policy:') && violations.push(message.text()))
  await signIn(page, backoffice, OPERATOR, '/themes')
  const activate = async () => {
    await page.getByRole('button', { name: 'Activate', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Activate' }).click()
  }

  await test.step('it starts with the built-in page', async () => {
    await expect(page.getByRole('heading', { name: 'No themes yet' })).toBeVisible()
    await page.getByRole('button', { name: 'Create a theme' }).first().click()
    await expect(page.getByRole('dialog')).toContainText('Theme ID: acme')
    await page.getByRole('dialog').getByRole('button', { name: 'Create a theme' }).click()
    await expect(frame(page).getByRole('heading', { level: 1 })).toBeVisible()
    await expectAccessible(page, 'a new theme')
  })
  await test.step('a page is written and saved', async () => {
    await page.getByRole('button', { name: 'Create: queue.html' }).click()
    await page.getByLabel('Content of queue.html').fill(pageWith('<p id="said">Doors open at 7 pm</p>'))
    await expect(frame(page).locator('#said')).toHaveText('Doors open at 7 pm')
    await expect(page.getByText('Unsaved draft')).toBeVisible()
    await page.getByRole('button', { name: 'Save version' }).click()
    await expect(page.getByText('Not live: visitors see this version')).toBeVisible()
  })
  await test.step('it is previewed in every language, state and width', async () => {
    await page.getByLabel('Language').last().selectOption('fr')
    await expect(frame(page).locator('html')).toHaveAttribute('lang', 'fr')
    await page.getByLabel('State', { exact: true }).selectOption({ label: 'Closed' })
    await expect(frame(page).locator('html')).toHaveAttribute('data-state', 'closed')
    await page.getByRole('radio', { name: 'Desktop' }).check()
    await expect(page.locator('iframe')).toHaveCSS('width', '1280px')
    await page.getByLabel('State', { exact: true }).selectOption({ label: 'All states' })
    await expect(page.locator('iframe')).toHaveCount(8)
    await expectAccessible(page, 'all states')
  })
  await test.step('it is activated, then an older version again', async () => {
    await activate()
    await expect(page.getByText('Live: visitors see this version.')).toBeVisible()
    await page.getByLabel('Content of queue.html').fill(pageWith('<p id="said">Doors open at 8 pm</p>'))
    await page.getByRole('button', { name: 'Save version' }).click()
    await expect(page.getByText('Not live: visitors see this version')).toBeVisible()
    await activate()
    await page.getByRole('tab', { name: 'Versions' }).click()
    const versions = page.getByRole('tabpanel').getByRole('listitem')
    await expect(versions).toHaveCount(2)
    await expect(versions.first()).toContainText('Live')
    await expectAccessible(page, 'versions')
    await versions.last().getByRole('button', { name: 'Activate this version' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Activate' }).click()
    await expect(versions.last()).toContainText('Live')
  })
  await test.step('it is deactivated and activated again', async () => {
    const panel = page.getByRole('tabpanel')
    await expect(panel.getByRole('button', { name: 'Remove theme' })).toBeDisabled()
    await panel.getByRole('button', { name: 'Deactivate' }).click()
    await expectAccessible(page, 'deactivation')
    await page.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click()
    await expect(panel.getByText('Live', { exact: true })).toHaveCount(0)
    await expect(panel.getByRole('button', { name: 'Deactivate' })).toBeHidden()
    await panel.getByRole('listitem').last().getByRole('button', { name: 'Activate' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Activate' }).click()
    await expect(panel.getByRole('button', { name: 'Deactivate' })).toBeVisible()
  })
  expect(violations).toEqual([])
})

test('an invalid archive is rejected by line and fixed', async ({ page, backoffice }) => {
  await prepare(backoffice)
  await signIn(page, backoffice, OPERATOR, '/themes/acme')
  await page.getByRole('tab', { name: 'Files' }).click()
  const add = page.getByLabel('Add files or a ZIP archive')

  await add.setInputFiles({ name: 'theme.zip', mimeType: 'application/zip', buffer: Buffer.from('PK, not really') })
  await expect(page.getByText('theme.zip is not a valid ZIP archive.')).toBeVisible()

  const queue = '{% extends "vestibule/queue.html" %}\n{% block notes %}\n{{ positon }} of the archive\n{% endblock %}\n'
  await add.setInputFiles({ name: 'theme.zip', mimeType: 'application/zip', buffer: archive({ 'acme/queue.html': queue, 'acme/logo.svg': SVG }) })
  await expect(page.getByText('The theme is invalid')).toBeVisible()
  await page.getByRole('alert').getByRole('button', { name: 'queue.html:3' }).click()
  const editor = page.getByLabel('Content of queue.html')
  await expect(editor).toBeFocused()
  await expect(editor).toHaveAttribute('aria-invalid', 'true')
  expect(await editor.evaluate((area: HTMLTextAreaElement) => area.value.slice(area.selectionStart, area.selectionEnd))).toBe('{{ positon }} of the archive')
  await expectAccessible(page, 'a broken theme')
  await page.getByRole('button', { name: 'Save version' }).click()
  await expect(page.getByText('The theme is invalid')).toBeVisible()

  await editor.fill(queue.replace('positon', 'position'))
  await page.getByRole('button', { name: 'Validate', exact: true }).click()
  await expect(page.getByText('The theme is valid in all states and languages.')).toBeVisible()
  await page.getByRole('button', { name: 'Save version' }).click()
  await expect(frame(page).getByText('1,234 of the archive')).toBeVisible()
})

test('activating an unused theme asks which queues use it', async ({ page, backoffice }) => {
  await backoffice.api.tenant('acme', 'Acme Live')
  await backoffice.api.queue({ id: 'acme-tour', name: 'World tour' })
  await backoffice.api.operator(OPERATOR, 'operator')
  await signIn(page, backoffice, OPERATOR, '/themes/acme')
  await page.getByRole('button', { name: 'Create: queue.html' }).click()
  await page.getByLabel('Content of queue.html').fill(pageWith('<p>help@acme.example</p>'))
  await page.getByRole('button', { name: 'Save version' }).click()
  await page.getByRole('button', { name: 'Activate' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Activate' }).click()
  const dialog = page.getByRole('dialog', { name: 'Which queues use the theme acme?' })
  await expect(dialog.getByRole('checkbox', { name: 'World tour' })).not.toBeChecked()
  await expectAccessible(page, 'the queues of a theme')
  await dialog.getByRole('checkbox', { name: 'World tour' }).check()
  await dialog.getByRole('button', { name: 'Use the theme for 1 queue' }).click()
  await expect(dialog).toBeHidden()
  expect((await backoffice.api.settings('acme-tour')).theme).toBe('acme')
})

test('leaving an unsaved theme asks for confirmation', async ({ page, backoffice }) => {
  await prepare(backoffice)
  await signIn(page, backoffice, OPERATOR, '/themes/acme')
  await page.getByRole('button', { name: 'Create: queue.html' }).click()
  await page.getByLabel('Content of queue.html').fill(pageWith('<p>help@acme.example</p>'))
  await page.getByRole('link', { name: 'All themes' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  await expect(page.getByLabel('Content of queue.html')).toHaveValue(/help@acme.example/)
  await page.getByRole('link', { name: 'All themes' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Leave' }).click()
  await expect(page).toHaveURL(/\/themes$/)
})

test('the preview follows edits and runs no scripts', async ({ page, backoffice }) => {
  await prepare(backoffice)
  const reached: string[] = []
  await page.route(/evil\.example/, (route) => (reached.push(route.request().url()), route.abort()))
  await signIn(page, backoffice, OPERATOR, '/themes/acme')
  await page.getByRole('tab', { name: 'Files' }).click()
  const editor = page.getByLabel('Content of queue.html')
  const shown = frame(page)
  const long = '<p>and more</p>'.repeat(60)

  await test.step('the preview follows typing', async () => {
    await page.getByRole('button', { name: 'Create: queue.html' }).click()
    await editor.fill(pageWith(`<p id="said">First</p>${long}`))
    await expect(shown.locator('#said')).toHaveText('First')
    // The element is kept: the page is not reloaded.
    await shown.locator('#said').evaluate((said) => Object.assign(said, { isTheSame: true }))
    await shown.locator('html').evaluate((html) => html.scrollTo(0, 120))
    await editor.fill(pageWith(`<p id="said">Second</p>${long}`))
    await expect(shown.locator('#said')).toHaveText('Second')
    await expect(shown.locator('#said')).toHaveJSProperty('isTheSame', true)
    expect(await shown.locator('html').evaluate((html) => html.scrollTop)).toBe(120)
  })
  await test.step('errors are shown and the last valid page stays', async () => {
    await editor.fill(pageWith('<p id="said">Third {{ positon }}</p>'))
    await expect(page.getByText('The draft is invalid')).toBeVisible()
    await expect(editor).toHaveAttribute('aria-invalid', 'true')
    await expect(shown.locator('#said')).toHaveText('Second')
    await expectAccessible(page, 'an invalid draft')
    await page.locator('.preview').getByRole('button', { name: 'queue.html:3' }).click()
    await expect(editor).toBeFocused()
    await editor.fill(pageWith('<p id="said">Third {{ position }}</p>'))
    await expect(shown.locator('#said')).toHaveText('Third 1,234')
    await expect(page.getByText('The draft is invalid')).toBeHidden()
  })
  await test.step('added files are shown', async () => {
    await page.getByLabel('Add files or a ZIP archive').setInputFiles([
      { name: 'art.svg', mimeType: 'image/svg+xml', buffer: Buffer.from(SVG) },
      { name: 'extra.css', mimeType: 'text/css', buffer: Buffer.from('#said { background: url("art.svg"); color: rgb(1, 2, 3) }') },
    ])
    await page.getByRole('button', { name: 'queue.html', exact: true }).click()
    await editor.fill(pageWith('<link rel="stylesheet" href="{{ asset_base }}extra.css"><img id="art" src="{{ asset_base }}art.svg" alt=""><p id="said">Fourth</p>'))
    await expect(shown.locator('#art')).toHaveJSProperty('naturalWidth', 300)
    await expect(shown.locator('#said')).toHaveCSS('color', 'rgb(1, 2, 3)')
    await expect(shown.locator('#said')).toHaveCSS('background-image', /^url\("blob:/)
  })
  await test.step('scripts, redirects and requests to other hosts are blocked', async () => {
    const evil = [
      '<img src="x" onerror="document.title = \'ran\'">',
      '<script nonce="{{ nonce }}">document.title = \'ran\'</script>',
      '<script src="{{ asset_base }}evil.js"></script>',
      '<meta http-equiv="refresh" content="0;url=https://evil.example/">',
      '<img src="https://evil.example/pixel.png"><link rel="stylesheet" href="https://evil.example/x.css">',
      '<iframe src="/api/v1/queues"></iframe><form action="/api/v1/sign-in" method="post"><button id="send">Send</button></form>',
      '<a id="away" href="https://evil.example/">Away</a><p id="said">Fifth</p>',
    ]
    await editor.fill(pageWith(evil.join('')))
    await expect(shown.locator('#said')).toHaveText('Fifth')
    await shown.locator('#away').click()
    await shown.locator('#send').click()
    await page.waitForTimeout(500)
    await expect(shown.locator('#said')).toHaveText('Fifth')
    expect(await shown.locator('html').evaluate(() => ({ title: document.title, origin: window.origin }))).toMatchObject({ origin: 'null' })
    expect(await shown.locator('html').evaluate(() => document.title)).not.toBe('ran')
    expect(await shown.locator('html').evaluate(() => fetch('/api/v1/queues').then(() => 'reached', () => 'refused'))).toBe('refused')
  })
  expect(reached).toEqual([])
})

test('copied files are edited, saved and removed', async ({ page, backoffice }) => {
  await prepare(backoffice)
  await backoffice.writeTheme('acme-old/queue.html', pageWith('<p id="said">By hand</p>'))
  await backoffice.writeTheme('acme-old/art.svg', SVG)
  await signIn(page, backoffice, OPERATOR, '/themes')
  await page.getByRole('link', { name: 'acme-old', exact: true }).click()
  await expect(page.getByText('copied to the theme storage by hand')).toBeVisible()
  await expect(frame(page).locator('#said')).toHaveText('By hand')
  await expect(page.getByText('No queue uses this theme yet: visitors do not see it.')).toBeVisible()
  await page.getByRole('tab', { name: 'Files' }).click()
  await expect(page.getByRole('list', { name: 'Files of the theme' }).getByRole('listitem')).toHaveCount(2)
  await page.getByRole('button', { name: 'queue.html', exact: true }).click()
  await page.getByLabel('Content of queue.html').fill(pageWith('<p id="said">Saved</p>'))
  await page.getByRole('button', { name: 'Save version' }).click()
  await page.getByRole('tab', { name: 'Versions' }).click()
  const versions = page.getByRole('tabpanel').getByRole('listitem')
  await expect(versions).toHaveCount(1)
  await expect(versions.last()).not.toContainText('Live')

  await page.getByRole('button', { name: 'Remove theme' }).click()
  const dialog = page.getByRole('dialog')
  await expect(dialog).toContainText('1 version')
  await expect(dialog.getByRole('button', { name: 'Remove theme' })).toBeDisabled()
  await expectAccessible(page, 'removing a theme')
  await dialog.getByRole('textbox').fill('acme-old')
  await dialog.getByRole('button', { name: 'Remove theme' }).click()
  await expect(page).toHaveURL(/\/themes$/)
  await expect(page.getByText('acme-old removed.')).toBeVisible()
  await expect(page.getByRole('heading', { name: 'No themes yet' })).toBeVisible()
})

const pageWith = (notes: string) => `{% extends "vestibule/queue.html" %}\n{% block notes %}\n${notes}\n{% endblock %}\n`

/** A minimal ZIP archive. */
function archive(files: Record<string, string>): Buffer {
  const parts: Buffer[] = []
  const entries: Buffer[] = []
  let at = 0
  for (const [name, text] of Object.entries(files)) {
    const [path, packed] = [Buffer.from(name), deflateRawSync(text)]
    const about = Buffer.alloc(26)
    about.writeUInt16LE(20, 0)
    about.writeUInt16LE(8, 4)
    about.writeUInt32LE(crc32(Buffer.from(text)), 10)
    about.writeUInt32LE(packed.length, 14)
    about.writeUInt32LE(Buffer.byteLength(text), 18)
    about.writeUInt16LE(path.length, 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), about, path, packed])
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE(at, 10)
    entries.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x00', 'latin1'), about, rest, path]))
    parts.push(local)
    at += local.length
  }
  const directory = Buffer.concat(entries)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 0, 'latin1')
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt32LE(at, 16)
  return Buffer.concat([...parts, directory, end])
}

function crc32(bytes: Buffer): number {
  let sum = ~0
  for (const byte of bytes) {
    sum ^= byte
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (0xedb88320 & -(sum & 1))
  }
  return ~sum >>> 0
}
