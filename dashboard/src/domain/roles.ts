import { computed } from 'vue'

import { defineTexts } from '@/locale'
import type { Role } from '@/services/types'

/** What somebody may do; each may all that the one before may. */
export const ROLES = ['viewer', 'operator', 'superuser'] as const satisfies readonly Role[]

const t = defineTexts({
  en: {
    names: { viewer: 'Viewer', operator: 'Operator', superuser: 'Superuser' },
    tokens: 'Makes API tokens for scripts.',
    may: {
      viewer: 'Looks at the queues, numbers and log of their tenants. Changes nothing.',
      operator: 'Also runs the queues of their tenants: levers, settings, visitors, names, colours and themes.',
      superuser: 'Does everything, with all tenants: creates and removes tenants, and says who may sign in.',
    },
  },
  de: {
    names: { viewer: 'Nur lesen', operator: 'Bedienen', superuser: 'Administrator' },
    tokens: 'Stellt API-Tokens für Skripte aus.',
    may: {
      viewer: 'Sieht Warteschlangen, Zahlen und Protokoll der eigenen Mandanten. Ändert nichts.',
      operator: 'Bedient dazu die Warteschlangen der eigenen Mandanten: Steuerung, Einstellungen, Besucher, Namen, Farben und Themes.',
      superuser: 'Darf alles, bei allen Mandanten: legt Mandanten an, entfernt sie und bestimmt, wer sich anmelden darf.',
    },
  },
})()

/** What a role is called. */
export const roleName = (role: Role) => t.value.names[role]

/** The roles of tokens, each with what it may. */
export const tokenRoleOptions = computed(() => ROLES.map((value) => ({ value, label: t.value.names[value], note: t.value.may[value] })))

/** The roles of operators: those who change things may also make tokens, which a token may not. */
export const roleOptions = computed(() =>
  tokenRoleOptions.value.map((role) => (role.value === 'operator' ? { ...role, note: `${role.note} ${t.value.tokens}` } : role)),
)

/** Whether a role is at most another. */
export const isWithin = (role: Role, most: Role) => ROLES.indexOf(role) <= ROLES.indexOf(most)
