import type { ChildProcess } from 'node:child_process'
import { connect, createServer, type AddressInfo } from 'node:net'

/** Ends a program, and waits until it has. */
export async function end(running: ChildProcess): Promise<void> {
  if (hasEnded(running)) return
  const ended = new Promise((done) => running.once('exit', done))
  running.kill('SIGTERM')
  const patience = setTimeout(() => running.kill('SIGKILL'), 10_000)
  await ended
  clearTimeout(patience)
}

export function hasEnded(running: ChildProcess): boolean {
  return running.exitCode !== null || running.signalCode !== null
}

/** A port of 127.0.0.1 that nobody listens on now. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  await new Promise((closed) => server.close(closed))
  return port
}

/** Whether somebody listens on a port. */
export function answers(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      done(true)
    })
    socket.once('error', () => done(false))
  })
}

/** Waits until something holds; throws with the reason if it never does. */
export async function until(holds: () => Promise<boolean>, reason: () => string): Promise<void> {
  const patience = Date.now() + 15_000
  while (Date.now() < patience) {
    if (await holds()) return
    await new Promise((passed) => setTimeout(passed, 30))
  }
  throw new Error(reason())
}
