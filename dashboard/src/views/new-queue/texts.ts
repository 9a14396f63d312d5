import { defineTexts } from '@/locale'

export const useNewQueueTexts = defineTexts({
  en: {
    title: 'Create a queue',
    cloneTitle: (queue: string) => `Clone ${queue}`,
    cloneLead: 'The new queue gets the settings of the old one, rules included, and a line of its own. It needs an id and hosts of its own.',
    lead: 'In force on the next request to its hosts. It begins paused, unless you choose otherwise: people wait, nobody gets in.',
    noTenants: 'A queue belongs to a tenant, and there is none yet',
    noTenantsMore: 'A tenant is a brand: it owns queues, hosts and themes.',
    toTenants: 'To the tenants',
    who: 'Whose and what',
    site: 'In front of what',
    line: 'How many get in',
    create: 'Create',
    clone: 'Clone',
    created: (name: string) => `${name} is there.`,
  },
  de: {
    title: 'Warteschlange anlegen',
    cloneTitle: (queue: string) => `${queue} kopieren`,
    cloneLead: 'Die neue bekommt die Einstellungen der alten, mit den Regeln, und eine eigene Reihe. Sie braucht eine eigene Kennung und eigene Hosts.',
    lead: 'Sie gilt ab der nächsten Anfrage an ihre Hosts. Sie beginnt angehalten, wenn Sie nichts anderes wählen: Man wartet, niemand kommt hinein.',
    noTenants: 'Eine Warteschlange gehört zu einem Mandanten, und es gibt noch keinen',
    noTenantsMore: 'Ein Mandant ist eine Marke: Ihm gehören Warteschlangen, Hosts und Designs.',
    toTenants: 'Zu den Mandanten',
    who: 'Wessen und was',
    site: 'Wovor sie steht',
    line: 'Wie viele hineinkommen',
    create: 'Anlegen',
    clone: 'Kopieren',
    created: (name: string) => `${name} ist da.`,
  },
})
