import { createServer, request as ask } from 'node:http'
import type { AddressInfo } from 'node:net'

import type { Vestibule } from './server.ts'

/** Something between the visitor and the gate that lets no cookie through. */
export interface Between {
  at(host: string, path?: string): string
  close(): Promise<void>
}

/** Opens it in front of a gate. */
export async function withoutCookies(gate: Vestibule): Promise<Between> {
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
