import { defineTexts } from '@/locale'

export const useSiteTexts = defineTexts({
  en: {
    kinds: {
      proxy: 'This queue forwards who is let in (proxy)',
      redirect: 'This queue redirects who is let in (redirect)',
      check: 'The proxy in front of the site asks this queue (check)',
    },
    leads: {
      proxy: (hosts: string, origin: string) => `Point ${hosts} at the gate. It fetches the pages of who is let in from ${origin}; the site gets the pass in the header X-Vestibule-Pass.`,
      redirect: (hosts: string, origin: string) => `Point ${hosts} at the gate. Who is let in is redirected to the same path at ${origin}, with a signed pass.`,
      check: (hosts: string) => `${hosts} stays where it is. Its proxy asks the gate before each request; put one of these into its configuration. “vestibule” is the gate, “site” your site.`,
    },
    names: { nginx: 'nginx', caddy: 'Caddy', traefik: 'Traefik', alb: 'AWS load balancer' },
    notes: {
      nginx: 'All headers that say what is asked about must be set, or a visitor could set them. Start the gate with --trusted-proxies 1.',
      caddy: '',
      traefik: '',
      alb: 'Where the site keeps its host: these rules send what has no pass yet to the gate. The load balancer sees that there is a pass, not whether it is signed: the site must verify it. GateTakes=unpassed of template.yaml makes the same.',
    },
    keepalive: 'Keep the place while the visitor is on the site',
    keepaliveLead: 'On every page of the site. Without it a place ends when no request meets the gate for the “presence on the site”; with redirect none does.',
    verify: 'Verify the pass',
    verifyLead: 'A pass is a JWT signed with Ed25519. Fetch the public keys, choose the one of its kid, and check signature, iss = vestibule, exp and queue. No secret is shared.',
    keys: 'Public keys',
    claims: 'What a pass of this queue carries',
  },
  de: {
    kinds: {
      proxy: 'Diese Warteschlange reicht Eingelassene weiter (proxy)',
      redirect: 'Diese Warteschlange leitet Eingelassene um (redirect)',
      check: 'Der Proxy vor der Website fragt diese Warteschlange (check)',
    },
    leads: {
      proxy: (hosts: string, origin: string) => `Lassen Sie ${hosts} auf das Gate zeigen. Es holt die Seiten für Eingelassene von ${origin}; die Website bekommt den Pass im Header X-Vestibule-Pass.`,
      redirect: (hosts: string, origin: string) => `Lassen Sie ${hosts} auf das Gate zeigen. Eingelassene werden auf denselben Pfad bei ${origin} umgeleitet, mit einem signierten Pass.`,
      check: (hosts: string) => `${hosts} bleibt, wo es ist. Der Proxy davor fragt vor jeder Anfrage das Gate; setzen Sie eines davon in seine Konfiguration. „vestibule“ ist das Gate, „site“ Ihre Website.`,
    },
    names: { nginx: 'nginx', caddy: 'Caddy', traefik: 'Traefik', alb: 'AWS-Load-Balancer' },
    notes: {
      nginx: 'Alle Header, die sagen, wonach gefragt wird, müssen gesetzt sein, sonst könnte ein Besucher sie setzen. Starten Sie das Gate mit --trusted-proxies 1.',
      caddy: '',
      traefik: '',
      alb: 'Wenn die Website ihren Host behält: Diese Regeln schicken alles ohne Pass zum Gate. Der Load Balancer sieht, dass ein Pass da ist, nicht, ob er signiert ist: Die Website muss ihn prüfen. GateTakes=unpassed in template.yaml macht dasselbe.',
    },
    keepalive: 'Den Platz halten, solange der Besucher auf der Website ist',
    keepaliveLead: 'Auf jeder Seite der Website. Ohne das Skript endet ein Platz, wenn für die „Anwesenheit auf der Website“ keine Anfrage das Gate trifft; bei redirect trifft es keine.',
    verify: 'Den Pass prüfen',
    verifyLead: 'Ein Pass ist ein JWT, signiert mit Ed25519. Öffentliche Schlüssel holen, den mit der passenden kid wählen, Signatur, iss = vestibule, exp und queue prüfen. Ein gemeinsames Geheimnis gibt es nicht.',
    keys: 'Öffentliche Schlüssel',
    claims: 'Was ein Pass dieser Warteschlange enthält',
  },
})
