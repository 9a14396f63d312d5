// Generates src/api/schema.d.ts from ../openapi.json. With --check, it fails if the file is out of date.
import { readFile, writeFile } from 'node:fs/promises'

import openapi, { astToString } from 'openapi-typescript'

const source = new URL('../../openapi.json', import.meta.url)
const target = new URL('../src/api/schema.d.ts', import.meta.url)

const wanted = `// Made from openapi.json: npm run types\n\n${astToString(await openapi(source))}`

if (!process.argv.includes('--check')) {
  await writeFile(target, wanted)
} else if ((await readFile(target, 'utf8').catch(() => '')) !== wanted) {
  console.error('src/api/schema.d.ts is not what openapi.json says: npm run types')
  process.exit(1)
}
