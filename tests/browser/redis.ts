import { type ChildProcess, spawn } from 'node:child_process'
import { connect } from 'node:net'

import { test as base } from './server.ts'
import { end, freePort } from './server.ts'

/** A Redis of the test's own, which can be taken away and given back, empty. */
export interface Redis {
  /** `redis://127.0.0.1:<port>`. */
  url: string
  start(): Promise<void>
  stop(): Promise<void>
}

/** Playwright's test with a Redis that ends with the test; skipped where none is installed. */
export const test = base.extend<{ redis: Redis }>({
  // Playwright finds out what a fixture depends on by the braces.
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
        while (!missing && !(await answers(port))) await new Promise((passed) => setTimeout(passed, 20))
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

function answers(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      done(true)
    })
    socket.once('error', () => done(false))
  })
}
