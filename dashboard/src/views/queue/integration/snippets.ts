import type { QueueSettings } from '@/api/types'

/** A configuration for another program. */
export interface Snippet {
  id: 'nginx' | 'caddy' | 'traefik' | 'alb'
  text: string
}

type Site = Pick<QueueSettings, 'id' | 'hosts' | 'rules' | 'handover'>

/** Maximum number of values in a condition of a load balancer rule. */
const ALB_VALUES_MAX = 5

/** The script tag that keeps sessions active; with the gate's host if the site has another host. */
export function keepalive({ id, hosts, handover }: Site): string {
  const host = exampleHost(hosts)
  const isElsewhere = handover.kind === 'redirect' && hostOf(handover.origin) !== host
  return `<script src="${isElsewhere ? `https://${host}` : ''}/_vestibule/keepalive.js" data-queue="${id}" defer></script>`
}

/** The configurations for the queue's handover. */
export function snippets(site: Site): Snippet[] {
  if (site.handover.kind === 'check') return [nginx(), caddy(site), traefik(site)]
  return site.handover.kind === 'redirect' ? [alb(site)] : []
}

function nginx(): Snippet {
  const visitor = `proxy_set_header Host $http_host;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    proxy_set_header X-Forwarded-Proto $scheme;`
  return {
    id: 'nginx',
    text: `# In the http block:
map $upstream_http_cache_control $vestibule_private {
    "~*(^|[ ,])(no-store|private)($|[ ,])" $upstream_http_cache_control;
    "~*(^|[ ,])no-cache" "private, no-cache";
    "~*(^|[ ,])(?<vestibule_max_age>max-age=[0-9]+)" "private, $vestibule_max_age";
    default private;
}
map $vestibule_cookie $vestibule_cache_control {
    "" $upstream_http_cache_control;
    default $vestibule_private;
}
map $vestibule_cookie $vestibule_expires {
    "" $upstream_http_expires;
    default "";
}
# In the server block:
location / {
    auth_request /_vestibule/check;
    auth_request_set $vestibule_cookie $upstream_http_set_cookie;
    auth_request_set $vestibule_ticket $upstream_http_x_vestibule_new_ticket;
    auth_request_set $vestibule_pass $upstream_http_x_vestibule_pass;
    auth_request_set $vestibule_session $upstream_http_x_vestibule_session;
    auth_request_set $vestibule_bypass $upstream_http_x_vestibule_bypass;
    error_page 401 = @wait;
    add_header Set-Cookie $vestibule_cookie always;
    proxy_hide_header Cache-Control;
    proxy_hide_header Expires;
    add_header Cache-Control $vestibule_cache_control always;
    add_header Expires $vestibule_expires always;
    proxy_set_header Host $http_host;
    proxy_set_header X-Vestibule-Pass $vestibule_pass;
    proxy_set_header X-Vestibule-Session $vestibule_session;
    proxy_set_header X-Vestibule-Bypass $vestibule_bypass;
    proxy_set_header X-Vestibule-Ticket "";
    proxy_set_header X-Vestibule-Invite "";
    proxy_pass http://site;
}
location = /_vestibule/check {
    internal;
    proxy_pass http://vestibule;
    proxy_pass_request_body off;
    proxy_set_header Content-Length "";
    ${visitor}
    proxy_set_header X-Forwarded-Host $http_host;
    proxy_set_header X-Forwarded-Uri $request_uri;
    proxy_set_header X-Forwarded-Method $request_method;
    proxy_set_header X-Original-URL "";
    proxy_set_header X-Original-Method "";
}
location /_vestibule/ {
    proxy_pass http://vestibule;
    ${visitor}
}
location @wait {
    proxy_pass http://vestibule;
    ${visitor}
    proxy_set_header X-Vestibule-Ticket $vestibule_ticket;
    proxy_hide_header X-Vestibule-Ticket;
}`,
  }
}

function caddy({ hosts }: Site): Snippet {
  return {
    id: 'caddy',
    text: `${hosts.join(', ')} {
    handle /_vestibule/* {
        reverse_proxy vestibule:8080
    }
    route {
        request_header -*_*
        request_header -X-Vestibule-Session
        request_header -X-Vestibule-Pass
        request_header -X-Vestibule-Bypass
        request_header -X-Vestibule-Cookie
        forward_auth vestibule:8080 {
            uri /_vestibule/check?page=true
            copy_headers X-Vestibule-Session X-Vestibule-Pass X-Vestibule-Bypass Set-Cookie>X-Vestibule-Cookie
        }
        @renewed header X-Vestibule-Cookie *=*
        header @renewed +Set-Cookie {header.X-Vestibule-Cookie}
        header @renewed {
            +Cache-Control private
            Cache-Control "(?i)public|s-maxage=[0-9]+" private
            -Expires
            defer
        }
        request_header -X-Vestibule-Cookie
        request_header -X-Vestibule-Ticket
        request_header -X-Vestibule-Invite
        reverse_proxy site:3000
    }
}`,
  }
}

function traefik({ id }: Site): Snippet {
  return {
    id: 'traefik',
    text: `http:
  middlewares:
    vestibule:
      forwardAuth:
        address: "http://vestibule:8080/_vestibule/check?page=true"
        authResponseHeaders: ["X-Vestibule-Session", "X-Vestibule-Pass", "X-Vestibule-Bypass"]
        addAuthCookiesToResponse: ["vestibule_${id}", "__Host-vestibule_${id}"]`,
  }
}

/** Listener rules for a site that keeps its host, as in template.yaml with GateTakes=unpassed. */
function alb({ id, hosts, rules }: Site): Snippet {
  const hostList = hosts.slice(0, ALB_VALUES_MAX - 1).join(', ')
  const queued = rules.filter(({ action }) => action === 'queue').flatMap(({ path }) => path ?? [])
  const paths = (queued.length ? queued : ['/*']).map((path) => path.replaceAll('**', '*')).slice(0, ALB_VALUES_MAX - 1)
  const rule = (priority: number, name: string, group: string, conditions: string[]) => `${name}:
  Type: AWS::ElasticLoadBalancingV2::ListenerRule
  Properties:
    ListenerArn: !Ref Listener
    Priority: ${priority}
    Conditions:
      - { Field: host-header, HostHeaderConfig: { Values: [${quoted(hostList)}] } }
${conditions.map((condition) => `      - ${condition}`).join('\n')}
    Actions: [{ Type: forward, TargetGroupArn: !Ref ${group} }]`
  const path = (values: string[]) => `{ Field: path-pattern, PathPatternConfig: { Values: [${values.map((value) => `"${value}"`).join(', ')}] } }`
  return {
    id: 'alb',
    text: [
      rule(20, 'OwnEndpointsRule', 'GateTargetGroup', [path(['/_vestibule', '/_vestibule/*'])]),
      rule(30, 'PassedRule', 'PlatformTargetGroup', [`{ Field: http-header, HttpHeaderConfig: { HttpHeaderName: Cookie, Values: ["*vestibule-pass_${id}=*"] } }`]),
      rule(40, 'QueuedRule', 'GateTargetGroup', [path(paths)]),
    ].join('\n'),
  }
}

function quoted(list: string): string {
  return list.split(', ').map((value) => `"${value}"`).join(', ')
}

/** The hosts of a queue for a sentence, with an example instead of `*`. */
export function hostList(hosts: readonly string[]): string {
  const withNames = hosts.filter((host) => host !== '*')
  return (withNames.length ? withNames : [exampleHost(hosts)]).join(', ')
}

/** The first named host of the queue, or an example. */
export function exampleHost(hosts: readonly string[]): string {
  return (hosts.find((host) => host !== '*') ?? 'tickets.example.com').replace(/^\*\./, 'www.')
}

function hostOf(origin: string | undefined): string | undefined {
  return origin && URL.canParse(origin) ? new URL(origin).hostname : undefined
}
