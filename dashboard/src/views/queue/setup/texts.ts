import { defineTexts } from '@/locale'

export const useSetupTexts = defineTexts({
  en: {
    title: 'Setup checklist',
    lead: 'The queue exists. These steps take it into operation. You find this list again under “More”.',
    steps: {
      connect: 'Connect the site',
      look: 'Open the queue page',
      test: 'Test a URL',
      quota: 'Set the quota',
      open: 'Open the queue',
    },
    connect: {
      gate: (hosts: string) => `Point the DNS entry or the proxy of ${hosts} at the gate.`,
      check: (hosts: string) => `Let the proxy of ${hosts} ask the gate before each request.`,
    },
    look: 'Visit the site as a visitor does, in a new tab. While the queue is paused, you see the queue page.',
    test: 'Check which requests meet this queue and which pass.',
    quota: (quota: string) => `At most ${quota} visitors are active at once. Set what the site can carry.`,
    open: 'Change the mode to “Open” when the sale begins. Waiting visitors are then admitted in order of arrival.',
    done: 'Done',
  },
  de: {
    title: 'Checkliste zur Einrichtung',
    lead: 'Die Warteschlange ist angelegt. Diese Schritte nehmen sie in Betrieb. Die Liste steht auch unter „Mehr“.',
    steps: {
      connect: 'Website anbinden',
      look: 'Warteseite öffnen',
      test: 'Adresse ausprobieren',
      quota: 'Quote setzen',
      open: 'Warteschlange öffnen',
    },
    connect: {
      gate: (hosts: string) => `Lassen Sie den DNS-Eintrag oder den Proxy von ${hosts} auf das Gate zeigen.`,
      check: (hosts: string) => `Lassen Sie den Proxy von ${hosts} vor jeder Anfrage das Gate fragen.`,
    },
    look: 'Besuchen Sie die Website wie ein Besucher, in einem neuen Tab. Solange die Warteschlange angehalten ist, sehen Sie die Warteseite.',
    test: 'Prüfen Sie, welche Anfragen diese Warteschlange treffen und welche durchgehen.',
    quota: (quota: string) => `Höchstens ${quota} Besucher sind gleichzeitig aktiv. Setzen Sie, was die Website trägt.`,
    open: 'Ändern Sie den Modus auf „Offen“, wenn der Verkauf beginnt. Wartende werden dann in der Reihenfolge ihrer Ankunft eingelassen.',
    done: 'Erledigt',
  },
})
