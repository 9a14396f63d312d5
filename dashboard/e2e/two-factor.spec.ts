import { createHmac } from 'node:crypto'

import type { Page } from '@playwright/test'

import { expectAccessible } from './axe.ts'
import { SUPERUSER, expect, signIn, test } from './backoffice.ts'

const HEADING = 'Two-factor authentication'
const STEP = 30_000

/** A TOTP code, a number of time steps from now (RFC 6238). */
function code(secret: string, steps = 0): string {
  const bits = [...secret.replaceAll(' ', '')].map((letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0')).join('')
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / STEP) + steps))
  const hash = createHmac('sha1', key).update(counter).digest()
  const number = hash.readUInt32BE((hash.at(-1) ?? 0) & 15) & 0x7fffffff
  return String(number % 1_000_000).padStart(6, '0')
}

/** Sets up two-factor authentication on its page. Returns the secret and the recovery codes. */
async function setUp(page: Page): Promise<{ secret: string; recovery: string[] }> {
  await page.getByRole('button', { name: 'Set up two-factor authentication' }).click()
  const secret = await page.getByRole('region', { name: 'Secret' }).innerText()
  await expect(page.getByRole('img', { name: 'QR code for the authenticator app' })).toBeVisible()
  await expectAccessible(page, 'the secret')
  await page.getByLabel('Code', { exact: true }).fill(code(secret))
  await page.getByLabel('Your password').fill(SUPERUSER.password)
  await page.getByRole('button', { name: 'Turn on' }).click()
  const recovery = (await page.getByRole('region', { name: 'Recovery codes' }).innerText()).trim().split('\n')
  expect(recovery).toHaveLength(10)
  await expectAccessible(page, 'the recovery codes')
  return { secret, recovery }
}

async function enterPassword(page: Page): Promise<void> {
  await page.getByLabel('Name').fill(SUPERUSER.name)
  await page.getByLabel('Password').fill(SUPERUSER.password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

test('two-factor authentication is set up, used and turned off', async ({ page, backoffice }) => {
  await signIn(page, backoffice)
  await page.getByRole('button', { name: 'Account' }).click()
  await page.getByRole('menuitem', { name: HEADING }).click()
  await expect(page.getByRole('heading', { level: 1, name: HEADING })).toBeVisible()
  const { secret, recovery } = await setUp(page)

  await test.step('recovery codes are downloaded', async () => {
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download as a file' }).click()])
    expect(download.suggestedFilename()).toBe('vestibule-recovery-codes.txt')
    await page.getByRole('button', { name: 'I’ve saved the codes' }).click()
    await expect(page.getByText('Two-factor authentication is on.')).toBeVisible()
  })
  await test.step('the next sign-in needs a code', async () => {
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await enterPassword(page)
    await expect(page.getByLabel('Code', { exact: true })).toBeFocused()
    await expectAccessible(page, 'the code of a sign-in')
    await page.keyboard.type('000000')
    await page.keyboard.press('Enter')
    await expect(page.getByRole('alert')).toContainText('This code is incorrect, expired or already used')
    await page.getByLabel('Code', { exact: true }).fill(code(secret, 1))
    await page.keyboard.press('Enter')
    await expect(page.getByRole('heading', { level: 1, name: 'Overview' })).toBeVisible()
  })
  await test.step('a recovery code works as well', async () => {
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

test('required two-factor setup blocks other pages', async ({ page, backoffice }) => {
  // The backoffice does not require it, so the response is changed until it is set up.
  await page.route('**/api/v1/sign-in', async (route) => {
    if (route.request().method() !== 'GET') return route.continue()
    const response = await route.fetch()
    const account = await response.json()
    return route.fulfill({ response, json: account?.totp === 'off' ? { ...account, totp: 'required' } : account })
  })
  await page.goto(`${backoffice.url}/operators`)
  await enterPassword(page)
  await expect(page.getByText('Two-factor authentication is required for your account.')).toBeVisible()
  await expect(page).toHaveURL(/\/two-factor\?next=\/operators/)
  await expect(page.getByRole('navigation')).toHaveCount(0)
  await expectAccessible(page, 'the required set-up')
  await setUp(page)
  await page.getByRole('button', { name: 'I’ve saved the codes' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Operators' })).toBeVisible()
})
