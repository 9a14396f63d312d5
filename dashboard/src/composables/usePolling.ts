import { onScopeDispose } from 'vue'

/** Longest pause after failures, in milliseconds. */
const PAUSE_MAX = 15_000

/** Asks again and again; see [`usePolling`]. */
export interface Live {
  /** Asks at once. */
  refresh(): void
}

/**
 * Runs a task now and again `every` so many milliseconds after it ended, as long as the page can be seen: not while its tab is
 * hidden, and at once when it comes back. After a failure it waits longer from time to time. A task that is under way is
 * aborted when the page goes.
 */
export function usePolling(task: (signal: AbortSignal) => Promise<void>, every: number): Live {
  let controller = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  let failures = 0

  async function run(): Promise<void> {
    stop()
    if (document.hidden) return
    const { signal } = (controller = new AbortController())
    try {
      await task(signal)
      failures = 0
    } catch {
      // Whoever does HTTP tells what went wrong; here it only means to come back later.
      failures += 1
    }
    if (!signal.aborted) timer = setTimeout(run, pause(every, failures))
  }

  function stop(): void {
    controller.abort()
    clearTimeout(timer)
  }

  function changed(): void {
    if (document.hidden) stop()
    else void run()
  }

  document.addEventListener('visibilitychange', changed)
  addEventListener('online', changed)
  void run()
  onScopeDispose(() => {
    stop()
    document.removeEventListener('visibilitychange', changed)
    removeEventListener('online', changed)
  })
  return { refresh: () => void run() }
}

function pause(every: number, failures: number): number {
  return failures === 0 ? every : Math.min(PAUSE_MAX, Math.max(1_000, every) * 2 ** (failures - 1))
}
