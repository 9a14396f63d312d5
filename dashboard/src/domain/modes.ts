import type { Mode } from '@/api/types'

/** The modes in display order. */
export const MODES = ['open', 'paused', 'draining', 'closed', 'bypass', 'scheduled'] as const satisfies readonly Mode[]

/** Whether a queue in this mode admits visitors by its rules. */
export const admits = (mode: string) => mode === 'open' || mode === 'draining'
