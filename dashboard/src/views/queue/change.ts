import { isEqual } from '@/domain/json'
import { Problem } from '@/api/problem'
import type { QueuePatch, QueueSettings } from '@/api/types'

/** A change of settings that were read earlier: a change that someone else made meanwhile must not be undone. */
export interface Change {
  /** The settings that the operator saw. */
  base: QueueSettings
  /** The part of the settings that the change depends on. */
  subject(settings: QueueSettings): unknown
  patch(settings: QueueSettings): QueuePatch
}

/** Sends a change. If someone else changed other settings meanwhile, it is sent again, based on the current ones. */
export async function sendChange<T>(change: Change, send: (base: QueueSettings, patch: QueuePatch) => Promise<T>): Promise<T> {
  for (;;) {
    const { base } = change
    try {
      return await send(base, change.patch(base))
    } catch (error) {
      const current = error instanceof Problem ? error.conflict?.current : undefined
      const isApplicable = current && current.revision > base.revision && isEqual(change.subject(base), change.subject(current))
      if (!isApplicable) throw error
      change.base = current
    }
  }
}
