import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

import { test as base } from '@playwright/test'

import { end, freePort, hasExited } from './process.ts'
import { openShop, type Shop } from './shop.ts'

const { VESTIBULE_BIN, CARGO_TARGET_DIR } = process.env
/** The program under test. */
export const program = VESTIBULE_BIN ?? resolve(import.meta.dirname, '../..', CARGO_TARGET_DIR ?? 'target', 'debug/vestibule')

/** Returns the text of a settings file (TOML) for the URL of the shop, `http://127.0.0.1:<port>`. */
export type Settings = (shop: string) => string

/** A running `vestibule serve`, with the memory store by default. */
export interface Vestibule {
  /** The URL of a path on a host: `at('shop.localhost', '/tickets')`. Browsers resolve *.localhost to the loopback address. */
  at(host: string, path?: string): string
  /** `127.0.0.1:<port>`. */
  address: string
  /** Output of the program so far. */
  log(): string
  /** Writes new settings and reloads them. */
  reload(settings: Settings): Promise<void>
  /** Stops the program; the shop keeps running. */
  stop(): Promise<void>
  /** Starts the program again with the same port, settings and state. */
  start(): Promise<void>
}

interface Fixtures {
  /** The site behind the gate. */
  shop: Shop
  /** Starts the gate with settings and arguments and waits until it is healthy. Once per test. */
  serve(settings: Settings, more?: string[]): Promise<Vestibule>
}

/** Playwright's test with a shop and a gate in front of it; both stop after the test. */
export const test = base.extend<Fixtures>({
  // Playwright reads the dependencies of a fixture from the destructured parameter.
  // eslint-disable-next-line no-empty-pattern
  shop: async ({}, use) => {
    const shop = await openShop()
    await use(shop)
    await shop.close()
  },
  serve: async ({ shop }, use, testInfo) => {
    const folder = await mkdtemp(join(tmpdir(), 'vestibule-browser-'))
    let vestibule: Vestibule | undefined
    await use(async (settings, more = []) => {
      if (vestibule) throw new Error('serve() was called twice: reload() takes other settings')
      vestibule = prepare(folder, await freePort(), shop.url, more)
      await vestibule.reload(settings)
      await vestibule.start()
      return vestibule
    })
    await vestibule?.stop()
    if (vestibule && testInfo.status !== testInfo.expectedStatus) {
      await testInfo.attach('vestibule.log', { body: vestibule.log(), contentType: 'text/plain' })
    }
    await rm(folder, { recursive: true })
  },
})

export { expect } from '@playwright/test'

function prepare(folder: string, port: number, shop: string, more: string[]): Vestibule {
  const address = `127.0.0.1:${port}`
  const file = join(folder, 'vestibule.toml')
  let running: ChildProcess | undefined
  let log = ''

  return {
    address,
    at: (host, path = '/') => `http://${host}:${port}${path}`,
    log: () => log,
    async reload(settings) {
      await writeFile(file, settings(shop))
      running?.kill('SIGHUP')
    },
    async stop() {
      if (!running) return
      await end(running)
      running = undefined
    },
    async start() {
      if (!existsSync(program)) throw new Error(`${program} is not built: cargo build --workspace --bins --tests`)
      running = spawn(program, [...serveArguments(file, address, join(folder, 'state'), more), ...more], {
        cwd: folder,
        env: cleanEnvironment(),
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      running.stdout?.on('data', (text) => (log += text))
      running.stderr?.on('data', (text) => (log += text))
      await untilHealthy(running, address, () => log)
    },
  }
}

/** Pages poll, which is what streams fall back to, unless a test takes streams. */
function serveArguments(settings: string, address: string, state: string, more: string[]): string[] {
  const streams = more.includes('--streams-max') ? [] : ['--streams-max', '0']
  return ['serve', '--settings', settings, '--listen', address, '--state', state, ...streams]
}

/** The environment without the developer's `VESTIBULE_*` variables. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VESTIBULE_')))
}

async function untilHealthy(running: ChildProcess, address: string, log: () => string): Promise<void> {
  const deadline = Date.now() + 15_000
  while (Date.now() < deadline) {
    if (hasExited(running)) throw new Error(`vestibule exited before it was healthy:\n${log()}`)
    const answer = await fetch(`http://${address}/_vestibule/health`).catch(() => undefined)
    if (answer?.ok) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`vestibule did not become healthy:\n${log()}`)
}
