import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The site behind the gate. Every path is a page that shows its path. */
export interface Shop {
  /** `http://127.0.0.1:<port>`, the origin for the settings. */
  url: string
  /** Method and path of all requests so far: `GET /tickets`. */
  requests: string[]
  /** What happens to an order, a POST: it is answered as any page by default. Replace it to answer later, or never. */
  order(answer: () => void, drop: () => void): void
  /** The page's body; replace it to embed a script, for example. */
  body(path: string): string
  close(): Promise<void>
}

/** Opens a shop on a free port. */
export async function openShop(): Promise<Shop> {
  const shop: Shop = {
    url: '',
    requests: [],
    order: (answer) => answer(),
    body: (path) => `<h1>The shop</h1><p>You are at <code>${path.replaceAll('<', '&lt;')}</code></p>`,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed())
        server.closeAllConnections()
      }),
  }
  const server = createServer((request, response) => {
    const path = request.url ?? '/'
    shop.requests.push(`${request.method} ${path}`)
    response.setHeader('Content-Type', 'text/html; charset=utf-8')
    const answer = () => response.end(`<!doctype html><html lang="en"><title>The shop</title><body>${shop.body(path)}</body></html>`)
    if (request.method === 'POST') shop.order(answer, () => request.destroy())
    else answer()
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  shop.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return shop
}
