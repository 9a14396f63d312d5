// Programs that tests start, and their ports, here and in the tests of the dashboard.
import type { ChildProcess } from 'node:child_process'
import { connect, createServer, type AddressInfo } from 'node:net'

/** Stops a program and waits for its exit. */
export async function end(running: ChildProcess): Promise<void> {
  if (hasExited(running)) return
  const ended = new Promise((done) => running.once('exit', done))
  running.kill('SIGTERM')
  const deadline = setTimeout(() => running.kill('SIGKILL'), 10_000)
  await ended
  clearTimeout(deadline)
}

/** Whether a program has ended. */
export function hasExited(running: ChildProcess): boolean {
  return running.exitCode !== null || running.signalCode !== null
}

/** A free port of 127.0.0.1. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  await new Promise((closed) => server.close(closed))
  return port
}

/** Whether a port accepts connections. */
export function isListening(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      done(true)
    })
    socket.once('error', () => done(false))
  })
}

/** Waits until a program listens at this port of 127.0.0.1, or `isGone` says that it never will. */
export async function untilListening(port: number, isGone: () => boolean): Promise<void> {
  while (!isGone() && !(await isListening(port))) await new Promise((resolve) => setTimeout(resolve, 20))
}

/** Waits for a condition; throws with the reason after 15 seconds. */
export async function waitFor(condition: () => Promise<boolean>, reason: () => string): Promise<void> {
  const deadline = Date.now() + 15_000
  while (Date.now() < deadline) {
    if (await condition()) return
    await new Promise((resolve) => setTimeout(resolve, 30))
  }
  throw new Error(reason())
}
