import { drainQueue, updateControls } from '@/api/queues'
import type { QueueSettings } from '@/api/types'

import { messagePatch, type Control } from './controls'

/** Applies a change that is not a release. Returns the new settings. */
export function applyControl({ id, admissions_every }: QueueSettings, control: Exclude<Control, { kind: 'release' }>): Promise<QueueSettings> {
  switch (control.kind) {
    case 'quota':
      return updateControls(id, { quota: control.quota })
    case 'rate': {
      // Steps need a rate, so they are removed with it.
      const steps = control.rate === null && admissions_every !== null ? { admissions_every: null } : {}
      return updateControls(id, { admissions_per_minute: control.rate, ...steps })
    }
    case 'message':
      return updateControls(id, { message: messagePatch(control.message, control.before) })
    case 'mode':
      return control.mode === 'draining' ? drainQueue(id) : updateControls(id, { mode: control.mode })
  }
}
