import { effectScope, type EffectScope } from 'vue'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import { queryClient } from '@/api/queries'

import { usePolling } from './usePolling'

let scope: EffectScope

beforeEach(() => {
  vi.useFakeTimers()
  queryClient.mount()
  scope = effectScope()
})
afterEach(() => {
  scope.stop()
  queryClient.unmount()
  hide(false)
  vi.useRealTimers()
})

function hide(isHidden: boolean): void {
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => isHidden })
  Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => (isHidden ? 'hidden' : 'visible') })
  document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))
}

test('polls at once and after each response', async () => {
  const task = vi.fn(() => Promise.resolve())
  scope.run(() => usePolling(['test'], task, 1000))
  expect(task).toHaveBeenCalledTimes(1)
  await vi.advanceTimersByTimeAsync(3000)
  expect(task).toHaveBeenCalledTimes(4)
})

test('pauses in a hidden tab and resumes at once', async () => {
  const task = vi.fn((signal: AbortSignal) => new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve())))
  scope.run(() => usePolling(['test'], task, 1000))
  hide(true)
  expect(task.mock.calls[0]![0].aborted).toBe(true)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(task).toHaveBeenCalledTimes(1)
  hide(false)
  await vi.advanceTimersByTimeAsync(0)
  expect(task).toHaveBeenCalledTimes(2)
})

test('does not poll in a background tab', async () => {
  hide(true)
  const task = vi.fn(() => Promise.resolve())
  scope.run(() => usePolling(['test'], task, 1000))
  await vi.advanceTimersByTimeAsync(5000)
  expect(task).not.toHaveBeenCalled()
})

test('backs off after failures and recovers', async () => {
  let isBroken = true
  const times: number[] = []
  const task = vi.fn(() => {
    times.push(Date.now())
    return isBroken ? Promise.reject(new Error('lost')) : Promise.resolve()
  })
  scope.run(() => usePolling(['test'], task, 1000))
  await vi.advanceTimersByTimeAsync(60_000)
  expect(times.slice(1, 7).map((time, index) => time - times[index]!)).toEqual([1000, 2000, 4000, 8000, 15_000, 15_000])
  isBroken = false
  await vi.advanceTimersByTimeAsync(15_000)
  const before = task.mock.calls.length
  await vi.advanceTimersByTimeAsync(3000)
  expect(task.mock.calls.length - before).toBe(3)
})

test('stops on unmount', async () => {
  const task = vi.fn(() => Promise.resolve())
  scope.run(() => usePolling(['test'], task, 1000))
  scope.stop()
  hide(true)
  hide(false)
  await vi.advanceTimersByTimeAsync(5000)
  expect(task).toHaveBeenCalledTimes(1)
})
