import { type ChildProcess, spawn } from 'node:child_process'

import { test as base } from './server.ts'
import { end, freePort, untilListening } from './process.ts'

/** The test's own Redis, which can be stopped and restarted empty. */
export interface Redis {
  /** `redis://127.0.0.1:<port>`. */
  url: string
  start(): Promise<void>
  stop(): Promise<void>
}

/** Playwright's test with a Redis that stops after the test; skipped if redis-server is not installed. */
export const test = base.extend<{ redis: Redis }>({
  // Playwright reads the dependencies of a fixture from the destructured parameter.
  // eslint-disable-next-line no-empty-pattern
  redis: async ({}, use, testInfo) => {
    const port = await freePort()
    let running: ChildProcess | undefined
    let missing = false
    const redis: Redis = {
      url: `redis://127.0.0.1:${port}`,
      async start() {
        running = spawn('redis-server', ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'], {
          stdio: 'ignore',
        })
        running.once('error', () => (missing = true))
        await untilListening(port, () => missing)
      },
      async stop() {
        if (running) await end(running)
        running = undefined
      },
    }
    await redis.start()
    testInfo.skip(missing, 'redis-server is not installed')
    await use(redis)
    await redis.stop()
  },
})

export { expect } from './server.ts'
