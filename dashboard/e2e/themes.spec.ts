import { deflateRawSync } from 'node:zlib'

import type { Page } from '@playwright/test'

import { accessible } from './axe.ts'
import { expect, OTTO, signIn, test, type Office } from './office.ts'

const SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 60"><rect width="200" height="60" fill="#7a1fa2"/></svg>'
const frame = (page: Page) => page.frameLocator('iframe')
const picture = { name: 'My Logo.svg', mimeType: 'image/svg+xml', buffer: Buffer.from(SVG) }

async function prepare({ api }: Office): Promise<void> {
  await api.tenant('acme', 'Acme Live')
  await api.queue({ id: 'acme-tour', name: 'World tour', theme: 'acme', hosts: ['acme-tour.localhost'] })
  await api.operator(OTTO, 'operator')
}

test('a theme is made by choosing, looked at, published and rolled back', async ({ page, office }) => {
  test.slow()
  await prepare(office)
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => console.error(`policy: ${violatedDirective} ${blockedURI}`))
  })
  const broken: string[] = []
  page.on('console', (message) => message.text().startsWith('policy:') && broken.push(message.text()))
  await signIn(page, office, OTTO, '/themes')

  await test.step('it begins with the built-in page', async () => {
    await expect(page.getByRole('heading', { name: 'No themes yet' })).toBeVisible()
    await page.getByRole('button', { name: 'Create a theme' }).first().click()
    await expect(page.getByRole('dialog')).toContainText('Its id will be acme.')
    await page.getByRole('dialog').getByRole('button', { name: 'Create a theme' }).click()
    await expect(frame(page).getByRole('heading', { name: 'You’re in line' })).toBeVisible()
    await accessible(page, 'a new theme')
  })
  await test.step('colour, logo and texts are chosen and saved', async () => {
    await page.getByLabel('Color', { exact: true }).fill('#7a1fa2')
    await page.getByLabel('Choose a picture').setInputFiles(picture)
    await page.getByLabel('Below what to know').fill('Doors open at 7 pm & <b>not</b> earlier.')
    await page.getByLabel('For visitors who read').selectOption('de')
    await page.getByLabel('Below what to know').fill('Einlass ab 19 Uhr.')
    await expect(frame(page).getByText('Einlass ab 19 Uhr.')).toBeVisible()
    await expect(page.getByText('Unsaved draft')).toBeVisible()
    await expect(frame(page).locator('img.logo')).toHaveJSProperty('complete', true)
    expect(await frame(page).locator('img.logo').evaluate((logo: HTMLImageElement) => logo.getBoundingClientRect().width)).toBeGreaterThan(100)
    await page.getByRole('button', { name: 'Save as a version' }).click()
    await expect(page.getByText('This version is not live')).toBeVisible()
  })
  await test.step('it is looked at in every language and state, at both widths', async () => {
    await page.getByLabel('Language').last().selectOption('fr')
    await expect(frame(page).getByText('Doors open at 7 pm & <b>not</b> earlier.')).toBeVisible()
    await page.getByLabel('State', { exact: true }).selectOption({ label: 'Closed' })
    await expect(frame(page).locator('html')).toHaveAttribute('data-state', 'closed')
    await page.getByRole('radio', { name: 'Desktop' }).check()
    await expect(page.locator('iframe')).toHaveCSS('width', '1280px')
    await page.getByLabel('State', { exact: true }).selectOption({ label: 'All states' })
    await expect(page.locator('iframe')).toHaveCount(5)
    const admitted = page.frameLocator('iframe[title^="The page, Admitted"]')
    await expect(admitted.locator('html')).toHaveAttribute('data-state', 'admitted')
    await expect(admitted.getByText('Doors open at 7 pm')).toBeHidden()
    await accessible(page, 'a theme that was chosen')
  })
  await test.step('it is published', async () => {
    await page.getByRole('button', { name: 'Activate' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Activate' }).click()
    await expect(page.getByText('Live: visitors see this version.')).toBeVisible()
  })
  await test.step('a second version is published, and the first comes back', async () => {
    await page.getByLabel('Below what to know').fill('Einlass ab 20 Uhr.')
    await page.getByRole('button', { name: 'Save as a version' }).click()
    await expect(page.getByText('This version is not live')).toBeVisible()
    await page.getByRole('button', { name: 'Activate' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Activate' }).click()
    await page.getByRole('tab', { name: 'Versions' }).click()
    const versions = page.getByRole('tabpanel').getByRole('listitem')
    await expect(versions).toHaveCount(2)
    await expect(versions.first()).toContainText('Live')
    await accessible(page, 'versions')
    await versions.last().getByRole('button', { name: 'Activate this version' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Activate' }).click()
    await expect(versions.last()).toContainText('Live')
  })
  await test.step('it is taken down, and comes back', async () => {
    const panel = page.getByRole('tabpanel')
    await expect(panel.getByText('These have it: acme-tour.')).toBeVisible()
    await expect(panel.getByRole('button', { name: 'Remove theme' })).toBeDisabled()
    await panel.getByRole('button', { name: 'Deactivate' }).click()
    await expect(page.getByRole('dialog')).toContainText('Nobody loses their place.')
    await accessible(page, 'a theme that is to be taken down')
    await page.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click()
    await expect(panel.getByText('Live', { exact: true })).toHaveCount(0)
    await expect(panel.getByRole('button', { name: 'Deactivate' })).toBeHidden()
    await panel.getByRole('listitem').last().getByRole('button', { name: 'Activate' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Activate' }).click()
    await expect(panel.getByRole('button', { name: 'Deactivate' })).toBeVisible()
  })
  await test.step('what was chosen is there again', async () => {
    await page.reload()
    await page.getByLabel('For visitors who read').selectOption('de')
    await expect(page.getByLabel('Below what to know')).toHaveValue('Einlass ab 20 Uhr.')
    await expect(page.getByLabel('Color', { exact: true })).toHaveValue('#7a1fa2')
  })
  expect(broken).toEqual([])
})

test('a broken archive is refused at its file and line, and mended there', async ({ page, office }) => {
  await prepare(office)
  await signIn(page, office, OTTO, '/themes/acme')
  await page.getByRole('tab', { name: 'Files' }).click()
  const add = page.getByLabel('Add files or a ZIP archive')

  await add.setInputFiles({ name: 'theme.zip', mimeType: 'application/zip', buffer: Buffer.from('PK, not really') })
  await expect(page.getByText('theme.zip is no ZIP archive that can be read.')).toBeVisible()

  const queue = '{% extends "vestibule/queue.html" %}\n{% block notes %}\n{{ positon }} of the archive\n{% endblock %}\n'
  await add.setInputFiles({ name: 'theme.zip', mimeType: 'application/zip', buffer: archive({ 'acme/queue.html': queue, 'acme/logo.svg': SVG }) })
  await expect(page.getByText('The theme is invalid')).toBeVisible()
  await page.getByRole('alert').getByRole('button', { name: 'queue.html:3' }).click()
  const editor = page.getByLabel('Content of queue.html')
  await expect(editor).toBeFocused()
  await expect(editor).toHaveAttribute('aria-invalid', 'true')
  expect(await editor.evaluate((area: HTMLTextAreaElement) => area.value.slice(area.selectionStart, area.selectionEnd))).toBe('{{ positon }} of the archive')
  await accessible(page, 'a broken theme')
  await page.getByRole('button', { name: 'Save as a version' }).click()
  await expect(page.getByText('The theme is invalid')).toBeVisible()

  await editor.fill(queue.replace('positon', 'position'))
  await page.getByRole('button', { name: 'Validate', exact: true }).click()
  await expect(page.getByText('The theme is valid in all states and languages.')).toBeVisible()
  await page.getByRole('button', { name: 'Save as a version' }).click()
  await expect(frame(page).getByText('1,234 of the archive')).toBeVisible()

  await page.getByRole('tab', { name: 'Look and texts' }).click()
  await expect(page.getByText('These pages were written by hand')).toBeVisible()
})

test('publishing a theme that no queue uses asks which queues shall use it', async ({ page, office }) => {
  await office.api.tenant('acme', 'Acme Live')
  await office.api.queue({ id: 'acme-tour', name: 'World tour' })
  await office.api.operator(OTTO, 'operator')
  await signIn(page, office, OTTO, '/themes/acme')
  await page.getByLabel('At the bottom').fill('help@acme.example')
  await page.getByRole('button', { name: 'Save as a version' }).click()
  await page.getByRole('button', { name: 'Activate' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Activate' }).click()
  const dialog = page.getByRole('dialog', { name: 'Which queues use the theme acme?' })
  await expect(dialog.getByRole('checkbox', { name: 'World tour' })).not.toBeChecked()
  await accessible(page, 'the queues of a theme')
  await dialog.getByRole('checkbox', { name: 'World tour' }).check()
  await dialog.getByRole('button', { name: 'Use the theme for 1 queue' }).click()
  await expect(dialog).toBeHidden()
  expect((await office.api.settings('acme-tour')).theme).toBe('acme')
})

test('changes that are not saved are not left behind by a click', async ({ page, office }) => {
  await prepare(office)
  await signIn(page, office, OTTO, '/themes/acme')
  await page.getByLabel('At the bottom').fill('help@acme.example')
  await page.getByRole('link', { name: 'All themes' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  await expect(page.getByLabel('At the bottom')).toHaveValue('help@acme.example')
  await page.getByRole('link', { name: 'All themes' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Leave' }).click()
  await expect(page).toHaveURL(/\/themes$/)
})

test('the preview follows every change, and nothing that it shows runs', async ({ page, office }) => {
  await prepare(office)
  const reached: string[] = []
  await page.route(/evil\.example/, (route) => (reached.push(route.request().url()), route.abort()))
  await signIn(page, office, OTTO, '/themes/acme')
  await page.getByRole('tab', { name: 'Files' }).click()
  const editor = page.getByLabel('Content of queue.html')
  const shown = frame(page)
  const long = '<p>and more</p>'.repeat(60)

  await test.step('as it is written', async () => {
    await page.getByRole('button', { name: 'Create: queue.html' }).click()
    await editor.fill(pageWith(`<p id="said">First</p>${long}`))
    await expect(shown.locator('#said')).toHaveText('First')
    // The same element goes on: nothing is loaded anew.
    await shown.locator('#said').evaluate((said) => Object.assign(said, { isTheSame: true }))
    await shown.locator('html').evaluate((html) => html.scrollTo(0, 120))
    await editor.fill(pageWith(`<p id="said">Second</p>${long}`))
    await expect(shown.locator('#said')).toHaveText('Second')
    await expect(shown.locator('#said')).toHaveJSProperty('isTheSame', true)
    expect(await shown.locator('html').evaluate((html) => html.scrollTop)).toBe(120)
  })
  await test.step('what does not work is told beside it, and what worked stays', async () => {
    await editor.fill(pageWith('<p id="said">Third {{ positon }}</p>'))
    await expect(page.getByText('The draft is invalid')).toBeVisible()
    await expect(editor).toHaveAttribute('aria-invalid', 'true')
    await expect(shown.locator('#said')).toHaveText('Second')
    await accessible(page, 'a page that does not work yet')
    await page.locator('.preview').getByRole('button', { name: 'queue.html:3' }).click()
    await expect(editor).toBeFocused()
    await editor.fill(pageWith('<p id="said">Third {{ position }}</p>'))
    await expect(shown.locator('#said')).toHaveText('Third 1,234')
    await expect(page.getByText('The draft is invalid')).toBeHidden()
  })
  await test.step('files that were only just chosen are seen', async () => {
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
  await test.step('and nothing runs, reloads, leaves or reaches anybody', async () => {
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

test('a theme that was not uploaded here is gone on with, and goes for good once it is not needed', async ({ page, office }) => {
  await prepare(office)
  await office.writeTheme('acme-old/queue.html', pageWith('<p id="said">By hand</p>'))
  await office.writeTheme('acme-old/art.svg', SVG)
  await signIn(page, office, OTTO, '/themes')
  await page.getByRole('link', { name: 'acme-old', exact: true }).click()
  await expect(page.getByText('The files of this theme were not uploaded here.')).toBeVisible()
  await expect(frame(page).locator('#said')).toHaveText('By hand')
  await expect(page.getByText('Live: visitors see this version.')).toBeVisible()
  await page.getByRole('tab', { name: 'Files' }).click()
  await expect(page.getByRole('list', { name: 'Files of the theme' }).getByRole('listitem')).toHaveCount(2)
  await page.getByRole('button', { name: 'queue.html', exact: true }).click()
  await page.getByLabel('Content of queue.html').fill(pageWith('<p id="said">Saved</p>'))
  await page.getByRole('button', { name: 'Save as a version' }).click()
  await page.getByRole('tab', { name: 'Versions' }).click()
  const versions = page.getByRole('tabpanel').getByRole('listitem')
  await expect(versions).toHaveCount(2)
  await expect(versions.last()).toContainText('not uploaded here')
  await expect(versions.last()).toContainText('Live')

  await page.getByRole('button', { name: 'Remove theme' }).click()
  const dialog = page.getByRole('dialog')
  await expect(dialog).toContainText('with 2 versions')
  await expect(dialog.getByRole('button', { name: 'Remove theme' })).toBeDisabled()
  await accessible(page, 'a theme that is to be removed')
  await dialog.getByRole('textbox').fill('acme-old')
  await dialog.getByRole('button', { name: 'Remove theme' }).click()
  await expect(page).toHaveURL(/\/themes$/)
  await expect(page.getByText('acme-old is removed.')).toBeVisible()
  await expect(page.getByRole('heading', { name: 'No themes yet' })).toBeVisible()
})

const pageWith = (notes: string) => `{% extends "vestibule/queue.html" %}\n{% block notes %}\n${notes}\n{% endblock %}\n`

/** A ZIP archive, as small as one can be. */
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
