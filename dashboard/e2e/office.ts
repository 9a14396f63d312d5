import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { createServer as createSite, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'

import { test as base, type Page } from '@playwright/test'

import { Api } from './api.ts'
import { answers, end, freePort, hasEnded, until } from './process.ts'

const { VESTIBULE_BIN, CARGO_TARGET_DIR } = process.env
const program = VESTIBULE_BIN ?? resolve(import.meta.dirname, '../..', CARGO_TARGET_DIR ?? 'target', 'debug/vestibule')
const built = resolve(import.meta.dirname, '../dist/index.html')

/** The first superuser. */
export const ADA = { name: 'ada', password: 'correct-horse-battery' }
/** Operates the queues of `acme`. */
export const OTTO = { name: 'otto', password: 'pull-the-levers-now' }
/** Looks at the queues of `acme`. */
export const VERA = { name: 'vera', password: 'look-but-do-not-touch' }

/** A running `vestibule serve` with a Redis of its own, a site behind its gate, and its dashboard. */
export interface Office {
  /** Where the dashboard is: `http://127.0.0.1:<port>`. */
  url: string
  /** Where the gate listens: `127.0.0.1:<port>`. */
  gate: string
  /** Where the site is. */
  site: string
  /** The API, as the first superuser. */
  api: Api
  stop(): Promise<void>
  start(): Promise<void>
  stopRedis(): Promise<void>
  startRedis(): Promise<void>
  /** Puts a file into the folder of themes, as somebody does who has no dashboard. */
  writeTheme(path: string, content: string): Promise<void>
}

/** Playwright's test with a backoffice, which ends with the test. */
export const test = base.extend<{ office: Office }>({
  // Playwright finds out what a fixture depends on by the braces.
  office: async ({}, use, testInfo) => {
    if (!existsSync(program)) throw new Error(`${program} is not built: cargo build --workspace --bins --tests`)
    if (!existsSync(built)) throw new Error(`${built} is not built: npm run build`)
    const folder = await mkdtemp(join(tmpdir(), 'vestibule-dashboard-'))
    await mkdir(join(folder, 'themes'))
    const site = await openSite()
    const { office, log } = await open(folder, `http://127.0.0.1:${(site.address() as AddressInfo).port}`)
    await use(office)
    await office.stop()
    await office.stopRedis()
    site.closeAllConnections()
    site.close()
    if (testInfo.status !== testInfo.expectedStatus) {
      await testInfo.attach('vestibule.log', { body: log(), contentType: 'text/plain' })
    }
    await rm(folder, { recursive: true })
  },
})

export { expect } from '@playwright/test'

/** Signs in by the page, as an operator does, and waits for the first numbers. */
export async function signIn(page: Page, office: Office, who = ADA, path = '/'): Promise<void> {
  await page.goto(office.url + path)
  await page.getByLabel('Name').fill(who.name)
  await page.getByLabel('Password').fill(who.password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.locator('#navigation').waitFor({ state: 'attached' })
}

async function openSite(): Promise<Server> {
  const site = createSite((_, response) => response.end('<!doctype html><title>Shop</title><h1>Tickets</h1>'))
  await new Promise<void>((listening) => site.listen(0, '127.0.0.1', listening))
  return site
}

async function open(folder: string, site: string): Promise<{ office: Office; log: () => string }> {
  const [port, gate, redisPort] = await ports(3)
  const url = `http://127.0.0.1:${port}`
  let redis: ChildProcess | undefined
  let running: ChildProcess | undefined
  let log = ''

  const office: Office = {
    url,
    gate: `127.0.0.1:${gate}`,
    site,
    api: new Api(url, ADA),
    async writeTheme(path, content) {
      const file = join(folder, 'themes', path)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, content)
    },
    async startRedis() {
      redis = spawn('redis-server', ['--port', `${redisPort}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'], { stdio: 'ignore' })
      let isMissing = false
      redis.once('error', () => (isMissing = true))
      await until(() => (isMissing ? Promise.reject(new Error('redis-server is not installed')) : answers(redisPort!)), () => 'Redis did not start')
    },
    async stopRedis() {
      if (redis) await end(redis)
      redis = undefined
    },
    async start() {
      const given = ['--listen', `127.0.0.1:${gate}`, '--admin-listen', `127.0.0.1:${port}`, '--store', `redis://127.0.0.1:${redisPort}`, '--themes', join(folder, 'themes')]
      const started = (running = spawn(program, ['serve', ...given, '--state', join(folder, 'state')], {
        cwd: folder,
        env: { ...ownEnvironment(), VESTIBULE_ADMIN_BOOTSTRAP: `${ADA.name}:${ADA.password}` },
        stdio: ['ignore', 'pipe', 'pipe'],
      }))
      started.stdout?.on('data', (text) => (log += text))
      started.stderr?.on('data', (text) => (log += text))
      await until(
        async () => {
          if (hasEnded(started)) throw new Error(`vestibule ended before it answered:\n${log}`)
          return office.api.isThere()
        },
        () => `vestibule did not become ready:\n${log}`,
      )
    },
    async stop() {
      if (running) await end(running)
      running = undefined
    },
  }
  await office.startRedis()
  await office.start()
  return { office, log: () => log }
}

async function ports(count: number): Promise<number[]> {
  return Promise.all(Array.from({ length: count }, freePort))
}

/** The environment without anything of Vestibule's that the developer has set. */
function ownEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VESTIBULE_')))
}
