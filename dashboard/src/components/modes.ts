import type { Component } from 'vue'
import { CircleSlash, DoorOpen, FastForward, Hourglass, Pause } from '@lucide/vue'

import type { Mode } from '@/api/types'

/** Tone and icon of each mode. */
export const MODE_STYLES: Record<Mode, { tone: 'good' | 'warn' | 'bad' | 'plain'; icon: Component }> = {
  open: { tone: 'good', icon: DoorOpen },
  paused: { tone: 'warn', icon: Pause },
  draining: { tone: 'warn', icon: Hourglass },
  closed: { tone: 'bad', icon: CircleSlash },
  bypass: { tone: 'plain', icon: FastForward },
}
