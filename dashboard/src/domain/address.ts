/** The host of a pasted address, as a queue names it: `https://Tickets.example.com/shop` is `tickets.example.com`. */
export function hostFrom(text: string): string {
  const host = text.trim().replace(/^[a-z][a-z0-9+.-]*:\/\//i, '').replace(/[/?#].*$/s, '').replace(/:\d*$/, '')
  return host.toLowerCase()
}

/** Scheme, host and port of a pasted URL. A host without a scheme gets https. */
export function originFrom(text: string): string {
  const typed = text.trim()
  const address = /^[\w-]+(\.[\w-]+)+(:\d+)?([/?#]|$)/.test(typed) ? `https://${typed}` : typed
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address)) return typed
  return new URL(address).origin
}
