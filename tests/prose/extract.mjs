// Writes the English texts that people read, but that are no Markdown, into extracted/*.md, each below its place.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, '..', '..')
const target = join(here, 'extracted')

/** Members of openapi.json and of Grafana's dashboards that people read. */
const READ = new Set(['description', 'summary', 'title'])

function* texts(value, place, wanted = () => true) {
  if (typeof value === 'string') {
    if (wanted(place.at(-1))) yield [place.join('.'), value]
  } else if (value && typeof value === 'object') {
    for (const [name, inner] of Object.entries(value)) yield* texts(inner, [...place, name], wanted)
  }
}

/** Doc comments of the command line's options are its help. */
function* help(source) {
  if (!/derive\([^)]*\b(Args|Parser|Subcommand|ValueEnum)\b/.test(source)) return
  let [place, lines] = ['', []]
  for (const [number, line] of source.split('\n').entries()) {
    const comment = line.match(/^\s*\/\/\/ ?(.*)/)
    if (comment) {
      if (!lines.length) place = `line ${number + 1}`
      lines.push(comment[1])
    } else if (lines.length) {
      yield [place, lines.join('\n')]
      lines = []
    }
  }
}

/** Values of these members of a YAML file, on the line of the name or folded below it. */
function* members(source, wanted) {
  const lines = source.split('\n')
  for (const [index, line] of lines.entries()) {
    const [, indent, name, value] = line.match(/^(\s*)(?:- )?(\w+): (.+)/) ?? []
    if (!wanted.has(name)) continue
    const below = lines.slice(index + 1)
    const end = below.findIndex((other) => other.search(/\S/) <= indent.length)
    const text = value.startsWith('>') ? below.slice(0, end).map((other) => other.trim()).join(' ') : value
    yield [`line ${index + 1}`, text]
  }
}

function write(file, found) {
  // A text's place is a comment, which no rule reads. Placeholders such as {count} are code.
  const shown = ([place, text]) => `<!-- ${place} -->\n\n${text.replace(/\{[^{}]*\}/g, '`$&`')}\n`
  const name = relative(root, file).replaceAll('/', '-')
  writeFileSync(join(target, `${name}.md`), [...found].map(shown).join('\n'))
}

rmSync(target, { recursive: true, force: true })
mkdirSync(target)
const json = (file) => JSON.parse(readFileSync(file, 'utf8'))
const catalogs = ['crates/themes/built-in/texts/en.json', 'dashboard/src/i18n/locales/en.json']
const programs = ['crates/vestibule/src', 'crates/workload/src']
const charts = 'deploy/grafana/dashboards'
const yaml = {
  'deploy/prometheus/alerts/vestibule.rules.yml': new Set(['summary', 'action']),
  'template.yaml': new Set(['Description', 'AlarmDescription', 'ConstraintDescription', 'GroupDescription']),
}

write(join(root, 'openapi.json'), texts(json(join(root, 'openapi.json')), [], (member) => READ.has(member)))
for (const file of catalogs.map((path) => join(root, path)).filter(existsSync)) write(file, texts(json(file), []))
for (const [path, wanted] of Object.entries(yaml)) {
  write(join(root, path), members(readFileSync(join(root, path), 'utf8'), wanted))
}
for (const path of readdirSync(join(root, charts)).map((name) => join(root, charts, name))) {
  write(path, texts(json(path), [], (member) => READ.has(member)))
}
for (const folder of programs.map((path) => join(root, path)).filter(existsSync)) {
  for (const path of readdirSync(folder, { recursive: true }).filter((path) => path.endsWith('.rs'))) {
    const found = [...help(readFileSync(join(folder, path), 'utf8'))]
    if (found.length) write(join(folder, path), found)
  }
}
