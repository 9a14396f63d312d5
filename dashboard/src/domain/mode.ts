import type { Component } from 'vue'
import { CircleSlash, DoorOpen, FastForward, Hourglass, Pause } from '@lucide/vue'

import { defineTexts } from '@/locale'
import type { Mode } from '@/services/types'

/** How a mode looks. */
interface Look {
  tone: 'good' | 'warn' | 'bad' | 'plain'
  icon: Component
}

/** The modes in the order in which they are offered. The compiler asks for each that the API has. */
export const MODES: Record<Mode, Look> = {
  open: { tone: 'good', icon: DoorOpen },
  paused: { tone: 'warn', icon: Pause },
  draining: { tone: 'warn', icon: Hourglass },
  closed: { tone: 'bad', icon: CircleSlash },
  bypass: { tone: 'plain', icon: FastForward },
}

export const useModeTexts = defineTexts<Record<Mode, { name: string; does: string }>>({
  en: {
    open: { name: 'Open', does: 'People join the line and are let in, first come, first served.' },
    paused: { name: 'Paused', does: 'People join and keep their places; nobody is let in.' },
    draining: { name: 'Draining', does: 'Nobody new joins; the line is let in as before. Once it is empty, the queue closes by itself.' },
    closed: { name: 'Closed', does: 'Nobody joins, and the closed page is shown. Who is in stays.' },
    bypass: { name: 'Bypass', does: 'Everybody passes straight to the site, without limit. Nothing is counted.' },
  },
  de: {
    open: { name: 'Offen', does: 'Wer kommt, stellt sich an und wird der Reihe nach eingelassen.' },
    paused: { name: 'Angehalten', does: 'Man stellt sich an und behält den Platz; niemand wird eingelassen.' },
    draining: { name: 'Auslaufend', does: 'Niemand Neues stellt sich an; die Reihe wird eingelassen wie bisher. Ist sie leer, schließt sie von selbst.' },
    closed: { name: 'Geschlossen', does: 'Niemand stellt sich an, die Seite „geschlossen“ erscheint. Wer drin ist, bleibt.' },
    bypass: { name: 'Durchlass', does: 'Alle gehen ohne Grenze direkt zur Website. Nichts wird gezählt.' },
  },
})

/** What a mode is called; one that this dashboard does not know, by its own word. */
export function modeName(mode: string): string {
  const texts: Record<string, { name: string }> = useModeTexts().value
  return texts[mode]?.name ?? mode
}

/** Whether a queue of this mode lets people in by its rules. */
export const admits = (mode: string) => mode === 'open' || mode === 'draining'
