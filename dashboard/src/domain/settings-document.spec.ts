import { expect, test } from 'vitest'

import { DocumentError, readDocument } from './settings-document'

/** A document of `GET /api/v1/settings?format=toml`. */
const EXPORTED = `[[tenants]]
id = "acme"
name = "Acme \\"1\\""

[[queues]]
handover = { kind = "proxy", origin = "http://10.0.0.5:3000" }
hosts = ["tickets.example.com"]
id = "acme-tour"
quota = 500

[[queues.rules]]
action = "bypass"
path = ["/static/**"]
`

test('TOML and JSON exports are read alike', async () => {
  const document = {
    tenants: [{ id: 'acme', name: 'Acme "1"' }],
    queues: [
      {
        handover: { kind: 'proxy', origin: 'http://10.0.0.5:3000' },
        hosts: ['tickets.example.com'],
        id: 'acme-tour',
        quota: 500,
        rules: [{ action: 'bypass', path: ['/static/**'] }],
      },
    ],
  }
  expect(await readDocument(EXPORTED)).toEqual(document)
  expect(await readDocument(`\uFEFF ${JSON.stringify(document, null, 2)}`)).toEqual(document)
})

test('a parse error has format and line', async () => {
  await expect(readDocument('{ "queues": [')).rejects.toEqual(new DocumentError('json'))
  await expect(readDocument('[[queues]]\nid = "a"\nquota = many\n')).rejects.toMatchObject({ format: 'toml', line: 3 })
})
