import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { createServer as createSite, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'

import { test as base, type Page } from '@playwright/test'

import { end, freePort, hasExited, isListening, waitFor } from '../../tests/browser/process.ts'

import { Api } from './api.ts'

const { VESTIBULE_BIN, CARGO_TARGET_DIR } = process.env
const program = VESTIBULE_BIN ?? resolve(import.meta.dirname, '../..', CARGO_TARGET_DIR ?? 'target', 'debug/vestibule')
const built = resolve(import.meta.dirname, '../dist/index.html')

/** The first superuser. */
export const SUPERUSER = { name: 'ada', password: 'correct-horse-battery' }
/** Manages the queues of `acme`. */
export const OPERATOR = { name: 'otto', password: 'operator-password' }
/** Sees the queues of `acme` without changing them. */
export const VIEWER = { name: 'vera', password: 'viewer-password-1' }

/** A running `vestibule serve` with its own Redis, a site behind its gate, and the dashboard. */
export interface Backoffice {
  /** URL of the dashboard: `http://127.0.0.1:<port>`. */
  url: string
  /** Address of the gate: `127.0.0.1:<port>`. */
  gate: string
  /** URL of the site. */
  site: string
  /** The API, as the first superuser. */
  api: Api
  stop(): Promise<void>
  start(): Promise<void>
  stopRedis(): Promise<void>
  startRedis(): Promise<void>
  /** Writes a file into the theme folder without the dashboard. */
  writeTheme(path: string, content: string): Promise<void>
}

/** Playwright's test with a backoffice that stops after the test. */
export const test = base.extend<{ backoffice: Backoffice }>({
  // Playwright reads the dependencies of a fixture from the destructured parameter.
  backoffice: async ({}, use, testInfo) => {
    if (!existsSync(program)) throw new Error(`${program} is not built: cargo build --workspace --bins --tests`)
    if (!existsSync(built)) throw new Error(`${built} is not built: npm run build`)
    const folder = await mkdtemp(join(tmpdir(), 'vestibule-dashboard-'))
    await mkdir(join(folder, 'themes'))
    const site = await openSite()
    const { backoffice, log } = await launch(folder, `http://127.0.0.1:${(site.address() as AddressInfo).port}`)
    await use(backoffice)
    await backoffice.stop()
    await backoffice.stopRedis()
    site.closeAllConnections()
    site.close()
    if (testInfo.status !== testInfo.expectedStatus) {
      await testInfo.attach('vestibule.log', { body: log(), contentType: 'text/plain' })
    }
    await rm(folder, { recursive: true })
  },
})

export { expect } from '@playwright/test'

/** Signs in through the page and waits for the navigation. */
export async function signIn(page: Page, backoffice: Backoffice, operator = SUPERUSER, path = '/'): Promise<void> {
  await page.goto(backoffice.url + path)
  await page.getByLabel('Name').fill(operator.name)
  await page.getByLabel('Password').fill(operator.password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.locator('#navigation').waitFor({ state: 'attached' })
}

async function openSite(): Promise<Server> {
  const site = createSite((_, response) => response.end('<!doctype html><title>Shop</title><h1>Tickets</h1>'))
  await new Promise<void>((listening) => site.listen(0, '127.0.0.1', listening))
  return site
}

async function launch(folder: string, site: string): Promise<{ backoffice: Backoffice; log: () => string }> {
  const [port, gate, redisPort] = await ports(3)
  const url = `http://127.0.0.1:${port}`
  let redis: ChildProcess | undefined
  let running: ChildProcess | undefined
  let log = ''

  const backoffice: Backoffice = {
    url,
    gate: `127.0.0.1:${gate}`,
    site,
    api: new Api(url, SUPERUSER),
    async writeTheme(path, content) {
      const file = join(folder, 'themes', path)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, content)
    },
    async startRedis() {
      redis = spawn('redis-server', ['--port', `${redisPort}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'], { stdio: 'ignore' })
      let isMissing = false
      redis.once('error', () => (isMissing = true))
      await waitFor(() => (isMissing ? Promise.reject(new Error('redis-server is not installed')) : isListening(redisPort!)), () => 'Redis did not start')
    },
    async stopRedis() {
      if (redis) await end(redis)
      redis = undefined
    },
    async start() {
      const options = ['--listen', `127.0.0.1:${gate}`, '--admin-listen', `127.0.0.1:${port}`, '--store', `redis://127.0.0.1:${redisPort}`, '--themes', join(folder, 'themes')]
      const started = (running = spawn(program, ['serve', ...options, '--state', join(folder, 'state')], {
        cwd: folder,
        env: { ...cleanEnvironment(), VESTIBULE_ADMIN_BOOTSTRAP: `${SUPERUSER.name}:${SUPERUSER.password}` },
        stdio: ['ignore', 'pipe', 'pipe'],
      }))
      started.stdout?.on('data', (text) => (log += text))
      started.stderr?.on('data', (text) => (log += text))
      await waitFor(
        async () => {
          if (hasExited(started)) throw new Error(`vestibule exited before it was ready:\n${log}`)
          return backoffice.api.isThere()
        },
        () => `vestibule did not become ready:\n${log}`,
      )
    },
    async stop() {
      if (running) await end(running)
      running = undefined
    },
  }
  await backoffice.startRedis()
  await backoffice.start()
  return { backoffice, log: () => log }
}

async function ports(count: number): Promise<number[]> {
  return Promise.all(Array.from({ length: count }, freePort))
}

/** The environment without the developer's `VESTIBULE_*` variables. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VESTIBULE_')))
}
