// Fails if the code that a browser loads for the first page exceeds its compressed size budget.
import { gzipSync } from 'node:zlib'

import { build } from 'vite'

const LIMIT_KB = 250
/** The first page after the sign-in. */
const FIRST_PAGE = /\/views\/overview\/OverviewView\.vue$/

const result = await build({ logLevel: 'warn', build: { write: false } })
const output = [result].flat().flatMap((it) => ('output' in it ? it.output : []))
const file = (/** @type {string} */ name) => output.find((it) => it.fileName === name)

/** @type {Map<string, number>} */
const sizes = new Map()
const first = output.filter((it) => it.type === 'chunk' && (it.isEntry || FIRST_PAGE.test(it.facadeModuleId ?? '')))
const wanted = ['index.html', ...first.map((it) => it.fileName)]
for (let name = wanted.pop(); name; name = wanted.pop()) {
  const found = file(name)
  if (!found || sizes.has(name)) continue
  const text = found.type === 'chunk' ? found.code : found.source
  sizes.set(name, gzipSync(text, { level: 9 }).length)
  if (found.type === 'chunk') wanted.push(...found.imports, ...(found.viteMetadata?.importedCss ?? []))
}

const total = [...sizes.values()].reduce((sum, size) => sum + size, 0)
for (const [name, size] of [...sizes].sort((one, other) => other[1] - one[1])) console.log(`${kb(size).padStart(8)} kB  ${name}`)
console.log(`${kb(total).padStart(8)} kB  of ${LIMIT_KB} kB in all`)
if (first.length < 2) throw new Error('the first page was not found among the chunks')
process.exitCode = total > LIMIT_KB * 1000 ? 1 : 0

function kb(/** @type {number} */ bytes) {
  return (bytes / 1000).toFixed(1)
}
