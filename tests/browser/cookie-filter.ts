import { createServer, request as ask } from 'node:http'
import type { AddressInfo } from 'node:net'

import type { Vestibule } from './server.ts'

/** A proxy between visitor and gate that removes all cookies. */
export interface CookieFilter {
  at(host: string, path?: string): string
  close(): Promise<void>
}

/** Starts a proxy that removes cookies in front of a gate. */
export async function filterCookies(gate: Vestibule): Promise<CookieFilter> {
  const { hostname, port } = new URL(`http://${gate.address}`)
  const server = createServer((request, response) => {
    const { cookie: _, ...headers } = request.headers
    const onward = ask({ hostname, port, method: request.method, path: request.url, headers }, (answer) => {
      const { 'set-cookie': _, ...kept } = answer.headers
      response.writeHead(answer.statusCode ?? 502, kept)
      answer.pipe(response)
    })
    onward.on('error', () => response.destroy())
    request.pipe(onward)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const own = (server.address() as AddressInfo).port
  return {
    at: (host, path = '/') => `http://${host}:${own}${path}`,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed())
        server.closeAllConnections()
      }),
  }
}
