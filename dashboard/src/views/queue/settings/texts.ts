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
      proxy: { name: 'Proxy', does: 'The gate forwards requests of admitted visitors and streams the responses.' },
      redirect: { name: 'Redirect', does: 'Admitted visitors get a signed pass and are redirected to the site.' },
      check: { name: 'Check', does: 'nginx, Caddy, Traefik or Envoy asks the gate about each request.' },
    },
    preflights: 'CORS preflights',
    preflightsHint: 'A forwarded preflight reaches the site without body, cookies and credentials.',
    preflightsKinds: {
      answer: 'answer: the gate answers for the hosts and the site of this queue',
      forward: 'forward: the site answers',
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
      proxy: { name: 'Proxy', does: 'Das Gate leitet Anfragen Eingelassener weiter und gibt die Antworten zurück.' },
      redirect: { name: 'Redirect', does: 'Eingelassene bekommen einen signierten Pass und werden zur Website weitergeleitet.' },
      check: { name: 'Check', does: 'nginx, Caddy, Traefik oder Envoy fragt das Gate zu jeder Anfrage.' },
    },
    preflights: 'CORS-Preflights',
    preflightsHint: 'Ein weitergereichter Preflight erreicht die Website ohne Body, Cookies und Zugangsdaten.',
    preflightsKinds: {
      answer: 'answer: das Gate antwortet für die Hosts und die Website dieser Warteschlange',
      forward: 'forward: die Website antwortet',
    },
    failures: {
      tickets: 'wer drin ist, bleibt drin; andere warten (empfohlen)',
      open: 'alle kommen durch',
      closed: 'niemand Neues kommt durch',
    },
    statuses: { 200: '200: wie jede Seite', 202: '202: angenommen', 429: '429: zu viele Anfragen', 503: '503: zurzeit nicht verfügbar' },
    builtIn: 'das eingebaute',
    saved: 'Die Einstellungen sind gespeichert.',
    levers: 'Modus, Quote und Rate stehen in der Steuerung auf der Seite „Live“.',
  },
})
