import { computed, inject, onScopeDispose, provide, shallowRef, watch, type ComputedRef, type InjectionKey, type ShallowRef } from 'vue'

import { problemOf, type Problem } from '@/services/problem'
import { readStats } from '@/services/numbers'
import { readQueue } from '@/services/queues'
import type { QueueSettings, QueueStats } from '@/services/types'
import { useNumbers } from '@/stores/numbers'
import { useSession } from '@/stores/session'

/** What the parts of a queue's page share. */
export interface QueueContext {
  id: ComputedRef<string>
  /** The settings as they were last read; they are read again when the numbers tell of a newer revision. */
  settings: ShallowRef<QueueSettings | undefined>
  stats: ComputedRef<QueueStats | undefined>
  /** Whether the operator may change it. */
  isOperated: ComputedRef<boolean>
  problem: ShallowRef<Problem | undefined>
  /** Takes the settings that a change answered with, and asks for the numbers that came of it. */
  changed(settings: QueueSettings): Promise<void>
  /** Asks for the numbers at once. */
  look(): Promise<void>
  /** Reads settings and numbers again. Throws where they can't be read. */
  reread(): Promise<void>
}

const KEY: InjectionKey<QueueContext> = Symbol('queue')

/** Reads a queue and hands it down to the parts of its page. */
export function provideQueue(queue: () => string): QueueContext {
  const numbers = useNumbers()
  const session = useSession()
  const id = computed(queue)
  const settings = shallowRef<QueueSettings>()
  const problem = shallowRef<Problem>()
  const stats = computed(() => numbers.byId.get(id.value))
  const isOperated = computed(() => settings.value !== undefined && session.operates(settings.value.tenant))
  let controller = new AbortController()

  async function read(): Promise<void> {
    controller.abort()
    const { signal } = (controller = new AbortController())
    try {
      settings.value = await readQueue(id.value, signal)
      problem.value = undefined
    } catch (error) {
      if (!signal.aborted) problem.value = problemOf(error)
    }
  }

  async function look(): Promise<void> {
    try {
      numbers.takeOne(await readStats(id.value))
    } catch {
      // They come by themselves a moment later.
    }
  }

  async function reread(): Promise<void> {
    const [now, then] = await Promise.all([readQueue(id.value), readStats(id.value)])
    settings.value = now
    numbers.takeOne(then)
  }

  async function changed(now: QueueSettings): Promise<void> {
    settings.value = now
    await look()
  }

  watch(id, () => {
    settings.value = undefined
    problem.value = undefined
    void read()
  }, { immediate: true })
  watch(
    () => (stats.value?.revision ?? 0) > (settings.value?.revision ?? Infinity),
    (isNewer) => isNewer && void read(),
  )
  // What could not be read is read once the numbers come again.
  watch(() => numbers.at, () => problem.value?.status === 0 && void read())
  onScopeDispose(() => controller.abort())

  const context = { id, settings, stats, isOperated, problem, changed, look, reread }
  provide(KEY, context)
  return context
}

/** The queue of the page. */
export function useQueue(): QueueContext {
  const context = inject(KEY)
  if (!context) throw new Error('there is no queue around this component')
  return context
}
