import { createHmac } from 'node:crypto'

import type { Page } from '@playwright/test'

import { accessible } from './axe.ts'
import { ADA, expect, signIn, test } from './office.ts'

const HEADING = 'Two-factor authentication'
const STEP = 30_000

/** The code of an authenticator app, a number of steps from now (RFC 6238). */
function code(secret: string, steps = 0): string {
  const bits = [...secret.replaceAll(' ', '')].map((letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0')).join('')
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / STEP) + steps))
  const hash = createHmac('sha1', key).update(counter).digest()
  const number = hash.readUInt32BE((hash.at(-1) ?? 0) & 15) & 0x7fffffff
  return String(number % 1_000_000).padStart(6, '0')
}

/** Sets two-factor authentication up on its page. Returns the secret and the recovery codes. */
async function setUp(page: Page): Promise<{ secret: string; recovery: string[] }> {
  await page.getByRole('button', { name: 'Set up two-factor authentication' }).click()
  const secret = await page.getByRole('region', { name: 'Secret' }).innerText()
  await expect(page.getByRole('img', { name: 'QR code for the authenticator app' })).toBeVisible()
  await accessible(page, 'the secret')
  await page.getByLabel('Code', { exact: true }).fill(code(secret))
  await page.getByLabel('Your password').fill(ADA.password)
  await page.getByRole('button', { name: 'Turn on' }).click()
  const recovery = (await page.getByRole('region', { name: 'Recovery codes' }).innerText()).trim().split('\n')
  expect(recovery).toHaveLength(10)
  await accessible(page, 'the recovery codes')
  return { secret, recovery }
}

async function enterPassword(page: Page): Promise<void> {
  await page.getByLabel('Name').fill(ADA.name)
  await page.getByLabel('Password').fill(ADA.password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

test('two-factor authentication is set up, asked for, and turned off', async ({ page, office }) => {
  await signIn(page, office)
  await page.getByRole('button', { name: 'Account' }).click()
  await page.getByRole('menuitem', { name: HEADING }).click()
  await expect(page.getByRole('heading', { level: 1, name: HEADING })).toBeVisible()
  const { secret, recovery } = await setUp(page)

  await test.step('the recovery codes can be taken along as a file', async () => {
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download as a file' }).click()])
    expect(download.suggestedFilename()).toBe('vestibule-recovery-codes.txt')
    await page.getByRole('button', { name: 'I’ve saved the codes' }).click()
    await expect(page.getByText('Two-factor authentication is on.')).toBeVisible()
  })
  await test.step('the next sign-in takes a code', async () => {
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await enterPassword(page)
    await expect(page.getByLabel('Code', { exact: true })).toBeFocused()
    await accessible(page, 'the code of a sign-in')
    await page.keyboard.type('000000')
    await page.keyboard.press('Enter')
    await expect(page.getByRole('alert')).toContainText('This code is incorrect, expired or already used')
    await page.getByLabel('Code', { exact: true }).fill(code(secret, 1))
    await page.keyboard.press('Enter')
    await expect(page.getByRole('heading', { level: 1, name: 'Overview' })).toBeVisible()
  })
  await test.step('or a recovery code', async () => {
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await enterPassword(page)
    await page.getByLabel('Code', { exact: true }).fill(recovery[4] ?? '')
    await page.getByRole('button', { name: 'Verify' }).click()
    await expect(page.getByRole('heading', { level: 1, name: 'Overview' })).toBeVisible()
  })
  await test.step('it is turned off again', async () => {
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitem', { name: HEADING }).click()
    await page.getByRole('button', { name: 'Turn off' }).click()
    await expect(page.getByText('Two-factor authentication is off.').first()).toBeVisible()
  })
})

test('who must set it up sees nothing else until it is done', async ({ page, office }) => {
  // The office does not require it, so the answer says so until it is set up.
  await page.route('**/api/v1/sign-in', async (route) => {
    if (route.request().method() !== 'GET') return route.continue()
    const response = await route.fetch()
    const account = await response.json()
    return route.fulfill({ response, json: account?.totp === 'off' ? { ...account, totp: 'required' } : account })
  })
  await page.goto(`${office.url}/operators`)
  await enterPassword(page)
  await expect(page.getByText('Two-factor authentication is required for your account.')).toBeVisible()
  await expect(page).toHaveURL(/\/two-factor\?next=\/operators/)
  await expect(page.getByRole('navigation')).toHaveCount(0)
  await accessible(page, 'the required set-up')
  await setUp(page)
  await page.getByRole('button', { name: 'I’ve saved the codes' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Operators' })).toBeVisible()
})
