import { defineTexts } from '@/locale'

export const useSettingsTexts = defineTexts({
  en: {
    basics: 'What it is',
    site: 'In front of what',
    times: 'Times',
    timesLead: 'How long places are kept. Changes hold from each visitor’s next request.',
    failure: 'When things go wrong',
    seconds: 'seconds',
    origin: 'Address of the site',
    originHint: 'Scheme, host and port: https://www.example.com',
    kinds: {
      proxy: 'proxy: the gate forwards requests and streams the answers',
      redirect: 'redirect: a signed pass, then straight to the site',
      check: 'check: nginx, Caddy, Traefik or Envoy asks the gate',
    },
    failures: {
      tickets: 'who is in stays in, others wait (recommended)',
      open: 'everybody passes',
      closed: 'nobody new passes',
    },
    statuses: { 200: '200: as any page', 202: '202: accepted', 429: '429: too many requests', 503: '503: unavailable for now' },
    builtIn: 'the built-in one',
    saved: 'The settings are saved.',
    levers: 'Mode, quota and rate are levers: they are on the page “Live”.',
  },
  de: {
    basics: 'Was sie ist',
    site: 'Wovor sie steht',
    times: 'Zeiten',
    timesLead: 'So lange bleiben Plätze erhalten. Änderungen gelten ab der nächsten Anfrage jedes Besuchers.',
    failure: 'Wenn etwas ausfällt',
    seconds: 'Sekunden',
    origin: 'Adresse der Website',
    originHint: 'Schema, Host und Port: https://www.example.com',
    kinds: {
      proxy: 'proxy: das Gate reicht Anfragen weiter und Antworten durch',
      redirect: 'redirect: ein signierter Pass, dann direkt zur Website',
      check: 'check: nginx, Caddy, Traefik oder Envoy fragt das Gate',
    },
    failures: {
      tickets: 'wer drin ist, bleibt drin; andere warten (empfohlen)',
      open: 'alle kommen durch',
      closed: 'niemand Neues kommt durch',
    },
    statuses: { 200: '200: wie jede Seite', 202: '202: angenommen', 429: '429: zu viele Anfragen', 503: '503: zurzeit nicht verfügbar' },
    builtIn: 'das eingebaute',
    saved: 'Die Einstellungen sind gespeichert.',
    levers: 'Modus, Quote und Rate sind Hebel: Sie stehen auf der Seite „Live“.',
  },
})
