import type { Component } from 'vue'
import { CalendarClock, CircleSlash, Dices, DoorOpen, FastForward, Hourglass, Pause } from '@lucide/vue'

import type { Mode } from '@/api/types'

/** Tone and icon of each mode, and of the phases of an event that are modes of their own. */
export const MODE_STYLES: Record<Mode | 'lobby' | 'draw', { tone: 'good' | 'warn' | 'bad' | 'plain'; icon: Component }> = {
  open: { tone: 'good', icon: DoorOpen },
  paused: { tone: 'warn', icon: Pause },
  draining: { tone: 'warn', icon: Hourglass },
  closed: { tone: 'bad', icon: CircleSlash },
  scheduled: { tone: 'plain', icon: CalendarClock },
  lobby: { tone: 'warn', icon: CalendarClock },
  draw: { tone: 'warn', icon: Dices },
  bypass: { tone: 'plain', icon: FastForward },
}
