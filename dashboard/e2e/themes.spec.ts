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
    await page.getByRole('button', { name: 'Make a theme' }).first().click()
    await expect(page.getByRole('dialog')).toContainText('Its id will be acme.')
    await page.getByRole('dialog').getByRole('button', { name: 'Make a theme' }).click()
    await expect(frame(page).getByRole('heading', { name: 'You’re in line' })).toBeVisible()
    await accessible(page, 'a new theme')
  })
  await test.step('colour, logo and texts are chosen and saved', async () => {
    await page.getByLabel('Colour', { exact: true }).fill('#7a1fa2')
    await page.getByLabel('Choose a picture').setInputFiles(picture)
    await page.getByLabel('Below what to know').fill('Doors open at 7 pm & <b>not</b> earlier.')
    await page.getByLabel('For visitors who read').selectOption('de')
    await page.getByLabel('Below what to know').fill('Einlass ab 19 Uhr.')
    await expect(page.getByText('Your changes are not in the preview yet.')).toBeVisible()
    await page.getByRole('button', { name: 'Save as a version' }).click()
    await expect(frame(page).getByText('Einlass ab 19 Uhr.')).toBeVisible()
    await expect(frame(page).locator('img.logo')).toHaveJSProperty('complete', true)
  })
  await test.step('it is looked at in every language and state, at both widths', async () => {
    await page.getByLabel('Language').last().selectOption('fr')
    await expect(frame(page).getByText('Doors open at 7 pm & <b>not</b> earlier.')).toBeVisible()
    await page.getByLabel('State', { exact: true }).selectOption({ label: 'Closed' })
    await expect(frame(page).locator('html')).toHaveAttribute('data-state', 'closed')
    await page.getByRole('radio', { name: 'Desktop' }).check()
    await expect(page.locator('iframe')).toHaveCSS('width', '1280px')
    await page.getByLabel('State', { exact: true }).selectOption({ label: 'All at once' })
    await expect(page.locator('iframe')).toHaveCount(5)
    const admitted = page.frameLocator('iframe[title^="The page, It is their turn"]')
    await expect(admitted.locator('html')).toHaveAttribute('data-state', 'admitted')
    await expect(admitted.getByText('Doors open at 7 pm')).toBeHidden()
    await accessible(page, 'a theme that was chosen')
  })
  await test.step('it is published', async () => {
    await page.getByRole('button', { name: 'Publish' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Publish' }).click()
    await expect(page.getByText('This is what visitors see.')).toBeVisible()
  })
  await test.step('a second version is published, and the first comes back', async () => {
    await page.getByLabel('Below what to know').fill('Einlass ab 20 Uhr.')
    await page.getByRole('button', { name: 'Save as a version' }).click()
    await expect(page.getByText('This version is not live')).toBeVisible()
    await page.getByRole('button', { name: 'Publish' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Publish' }).click()
    await page.getByRole('tab', { name: 'Versions' }).click()
    const versions = page.getByRole('tabpanel').getByRole('listitem')
    await expect(versions).toHaveCount(2)
    await expect(versions.first()).toContainText('Live')
    await accessible(page, 'versions')
    await versions.last().getByRole('button', { name: 'Roll back to this' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Publish' }).click()
    await expect(versions.last()).toContainText('Live')
  })
  await test.step('what was chosen is there again', async () => {
    await page.reload()
    await page.getByLabel('For visitors who read').selectOption('de')
    await expect(page.getByLabel('Below what to know')).toHaveValue('Einlass ab 20 Uhr.')
    await expect(page.getByLabel('Colour', { exact: true })).toHaveValue('#7a1fa2')
  })
  expect(broken).toEqual([])
})

test('a broken archive is refused at its file and line, and mended there', async ({ page, office }) => {
  await prepare(office)
  await signIn(page, office, OTTO, '/themes/acme')
  await page.getByRole('tab', { name: 'Files' }).click()
  const add = page.getByLabel('Add files or a ZIP')

  await add.setInputFiles({ name: 'theme.zip', mimeType: 'application/zip', buffer: Buffer.from('PK, not really') })
  await expect(page.getByText('theme.zip is no ZIP archive that can be read.')).toBeVisible()

  const queue = '{% extends "vestibule/queue.html" %}\n{% block notes %}\n{{ positon }} of the archive\n{% endblock %}\n'
  await add.setInputFiles({ name: 'theme.zip', mimeType: 'application/zip', buffer: archive({ 'acme/queue.html': queue, 'acme/logo.svg': SVG }) })
  await expect(page.getByText('It does not work yet')).toBeVisible()
  await page.getByRole('button', { name: 'queue.html:3' }).click()
  const editor = page.getByLabel('Content of queue.html')
  await expect(editor).toBeFocused()
  await expect(editor).toHaveAttribute('aria-invalid', 'true')
  expect(await editor.evaluate((area: HTMLTextAreaElement) => area.value.slice(area.selectionStart, area.selectionEnd))).toBe('{{ positon }} of the archive')
  await accessible(page, 'a broken theme')
  await page.getByRole('button', { name: 'Save as a version' }).click()
  await expect(page.getByText('It does not work yet')).toBeVisible()

  await editor.fill(queue.replace('positon', 'position'))
  await page.getByRole('button', { name: 'Check', exact: true }).click()
  await expect(page.getByText('It works in every state and language.')).toBeVisible()
  await page.getByRole('button', { name: 'Save as a version' }).click()
  await expect(frame(page).getByText('1,234 of the archive')).toBeVisible()

  await page.getByRole('tab', { name: 'Look and texts' }).click()
  await expect(page.getByText('These pages were written by hand')).toBeVisible()
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
