import { defineTexts } from '@/locale'
import type { QueueSettings } from '@/services/types'

type Field = keyof QueueSettings
interface Words {
  label: string
  hint?: string
}

/** What settings are called, and what they are for: in forms, differences and conflicts alike. */
const useFieldTexts = defineTexts<Record<Field, Words>>({
  en: {
    id: { label: 'Id', hint: 'Small letters, digits and hyphens. It is part of the cookie’s name and can’t be changed.' },
    tenant: { label: 'Tenant' },
    name: { label: 'Name', hint: 'What visitors read.' },
    hosts: { label: 'Hosts', hint: 'The hosts that it stands in front of, one a line: tickets.example.com, *.example.com' },
    rules: { label: 'Rules' },
    mode: { label: 'Mode' },
    quota: { label: 'Quota', hint: 'Most visitors that are in at once.' },
    admissions_per_minute: { label: 'Rate', hint: 'Most that are let in a minute. Empty is no limit.' },
    waiting_ttl: { label: 'Presence in line', hint: 'Who is not heard of for so long no longer counts as waiting. The place is kept.' },
    active_ttl: { label: 'Presence on the site', hint: 'Who makes no request for so long gives the place to the next.' },
    claim_ttl: { label: 'Time to show up', hint: 'How long a place waits for who was let in while away.' },
    hold_ttl: { label: 'Place kept while away', hint: 'Who comes back within this time stands where they stood.' },
    max_session: { label: 'Longest stay', hint: 'A place ends after so long, whatever the visitor does. Empty is never.' },
    recheck_after: { label: 'Recheck after', hint: 'A fresh ticket passes unasked for so long; so long may it take until a visitor you end is out. 0 always asks.' },
    handover: { label: 'Handover', hint: 'How who is let in reaches the site.' },
    theme: { label: 'Theme', hint: 'Look of the queue page. Empty is the built-in one.' },
    queue_status: { label: 'Status of the queue page' },
    store_failure: { label: 'While the store is away' },
    cookie_domain: { label: 'Domain of the cookies', hint: 'Empty is the very host. With redirect, a domain that the site is under as well.' },
    epoch: { label: 'Epoch' },
    revision: { label: 'Revision' },
  },
  de: {
    id: { label: 'Kennung', hint: 'Kleine Buchstaben, Ziffern und Bindestriche. Sie steht im Namen des Cookies und bleibt.' },
    tenant: { label: 'Mandant' },
    name: { label: 'Name', hint: 'So lesen ihn die Besucher.' },
    hosts: { label: 'Hosts', hint: 'Vor diesen Hosts steht sie, einer je Zeile: tickets.example.com, *.example.com' },
    rules: { label: 'Regeln' },
    mode: { label: 'Modus' },
    quota: { label: 'Quote', hint: 'So viele dürfen gleichzeitig drin sein.' },
    admissions_per_minute: { label: 'Einlassrate', hint: 'So viele kommen höchstens je Minute hinein. Leer heißt ohne Grenze.' },
    waiting_ttl: { label: 'Anwesenheit in der Reihe', hint: 'Wer so lange nichts hören lässt, zählt nicht mehr als wartend. Der Platz bleibt.' },
    active_ttl: { label: 'Anwesenheit auf der Website', hint: 'Wer so lange nichts aufruft, gibt den Platz weiter.' },
    claim_ttl: { label: 'Zeit zum Erscheinen', hint: 'So lange wartet ein Platz auf jemanden, der gerade nicht da war.' },
    hold_ttl: { label: 'Platz bei Abwesenheit', hint: 'Wer in dieser Zeit wiederkommt, steht, wo er stand.' },
    max_session: { label: 'Längster Aufenthalt', hint: 'Danach endet ein Platz, was auch immer geschieht. Leer heißt nie.' },
    recheck_after: { label: 'Nachfragen nach', hint: 'So lange gilt ein frisches Ticket ungefragt; so lange dauert es höchstens, bis jemand draußen ist. 0 fragt immer.' },
    handover: { label: 'Übergabe', hint: 'So kommen Eingelassene zur Website.' },
    theme: { label: 'Theme', hint: 'Aussehen der Warteseite. Leer ist das eingebaute.' },
    queue_status: { label: 'Status der Warteseite' },
    store_failure: { label: 'Wenn der Speicher ausfällt' },
    cookie_domain: { label: 'Domain der Cookies', hint: 'Leer ist genau der Host. Bei „redirect“ eine Domain, unter der auch die Website liegt.' },
    epoch: { label: 'Epoche' },
    revision: { label: 'Revision' },
  },
})

/** What a setting is called; one that this dashboard does not know, by its own name. */
export function fieldName(field: string): string {
  return useFieldTexts().value[field as Field]?.label ?? field
}

export { useFieldTexts }
