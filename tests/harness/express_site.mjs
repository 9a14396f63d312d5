// A site in Express: node express_site.mjs <port>. Everything under /checkout is the checkout.
import { createRequire } from 'node:module'

const express = createRequire(new URL('../browser/package.json', import.meta.url))('express')
const app = express()
const page = (name) => (request, response) => response.type('text').send(`${name} ${request.originalUrl}`)

app.use('/checkout', page('SITE-CHECKOUT'))
app.use('/static', page('SITE-STATIC'))
app.use(page('SITE-HOME'))
app.listen(Number(process.argv[2]), '127.0.0.1')
