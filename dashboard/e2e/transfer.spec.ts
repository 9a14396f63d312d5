import { expect, signIn, test } from './backoffice.ts'

test('an import shows its plan before it is applied', async ({ page, backoffice }) => {
  await backoffice.api.tenant('acme', 'Acme')
  await backoffice.api.queue({ id: 'acme-tour', name: 'World tour' })
  await backoffice.api.queue({ id: 'acme-old' })
  const exported = await backoffice.api.call<{ tenants: object[]; queues: { id: string }[] }>('GET', '/settings')
  const [tour] = exported.queues.filter(({ id }) => id === 'acme-tour')
  const wanted = { ...exported, queues: [{ ...tour, name: 'Grand tour' }, { ...tour, id: 'acme-new', hosts: ['new.localhost'], revision: undefined }] }

  await signIn(page, backoffice, undefined, '/transfer')
  const file = (text: string) => page.getByLabel('Document', { exact: true }).setInputFiles({ name: 'vestibule.json', mimeType: 'application/json', buffer: Buffer.from(text) })
  await file('no document')
  await expect(page.getByLabel('Document', { exact: true })).toHaveAttribute('aria-invalid', 'true')
  await file(JSON.stringify({ queues: [{ id: 'x' }] }))
  await expect(page.getByRole('alert')).toContainText('Some fields are invalid.')
  await file(JSON.stringify(wanted))
  await expect(page.getByText('Not in the document, kept')).toBeVisible()
  await page.getByLabel('Remove queues that are not in the document').check()
  await expect(page.getByText('Removed, including all visitors in line')).toBeVisible()
  await expect(page.getByRole('row', { name: 'Name World tour Grand tour' })).toBeVisible()

  await page.getByRole('button', { name: 'Import …' }).click()
  const dialog = page.getByRole('dialog')
  await expect(dialog).toContainText('1')
  await dialog.getByRole('button', { name: 'Import', exact: true }).click()
  await expect(page.getByText('Document imported.')).toBeVisible()
  await expect(page.getByText('No changes.')).toBeVisible()
  const { queues } = await backoffice.api.call<{ queues: { id: string; name: string }[] }>('GET', '/queues')
  expect(queues.map(({ id, name }) => [id, name])).toEqual([['acme-new', 'World tour'], ['acme-tour', 'Grand tour']])
})

test('an exported TOML file can be imported', async ({ page, backoffice }) => {
  await backoffice.api.tenant('acme', 'Acme')
  await backoffice.api.queue({ id: 'acme-tour', name: 'World tour', rules: [{ action: 'bypass', path: ['/static/**'] }] })
  await signIn(page, backoffice, undefined, '/transfer')
  const download = page.waitForEvent('download')
  await page.getByRole('link', { name: 'TOML' }).click()
  await page.getByLabel('Document', { exact: true }).setInputFiles(await (await download).path())
  await expect(page.getByText('No changes.')).toBeVisible()
})

test('settings are exported as a file', async ({ page, backoffice }) => {
  await backoffice.api.tenant('acme', 'Acme')
  await signIn(page, backoffice, undefined, '/transfer')
  for (const [name, file] of [['JSON', 'vestibule.json'], ['TOML', 'vestibule.toml']] as const) {
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name }).click()
    expect((await download).suggestedFilename()).toBe(file)
  }
})
