// Writes tracked files that are no Markdown into extracted/, line by line as plain words: comments, texts and names.
// Files whose texts people read are always written, others if a term occurs in them.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const here = import.meta.dirname
const root = join(here, '..', '..')
const target = join(here, 'extracted')

/** Their spelling is checked as well: API, user interface, command line, error texts, metrics, alerts, charts, template. */
const READ = [
  /^(openapi\.json|template\.yaml|docker-compose\.yml)$/,
  /^(crates\/themes\/built-in|dashboard\/src\/i18n|deploy\/(grafana|prometheus|compose))\//,
  /^crates\/(vestibule|workload|metrics)\/src\//,
  /^crates\/(core\/src\/fields\/error_code|gate\/src\/error|admin\/src\/codes)\.rs$/,
]

/** Files that are not checked. */
const SKIPPED = [
  /\.(md|png|der)$/, // Markdown is checked as it is; the others are binary.
  /^Cargo\.lock$|package-lock\.json$/, // Names of others.
  /\/(texts|locales)\/(?!en)[\w-]+\.json$/, // Other languages.
  /^dashboard\/src\/api\/schema\.d\.ts$/, // Written from openapi.json.
  /^tests\/prose\/(textlintrc\.json|extract\.mjs)$/, // The terms and the exceptions.
]

/** Names that are not ours to choose, and words of a page for visitors. */
const EXCEPTIONS = [
  /\bis_cancelled\b|\bcancelled\(\)/g, // Methods of Tokio.
  /("|<b>)Standing\b/g, // An area of the demo's concert hall.
]

/** Lines of a comment in any of the languages. */
const LINE_COMMENTS = /(^[ \t]*(\/\/[/!]?|#|--|\*)(?=[ \t]).*\n){2,}/gm

/** The lines of a block of comments as its first line, so that a term may contain a line break. */
function joined(block) {
  const lines = block.split('\n').map((line) => line.replace(/^[ \t]*\S+/, ''))
  return lines.join('') + '\n'.repeat(lines.length - 1)
}

/** The words of a source file, each on its line. Identifiers become words, and brackets separate terms. */
function words(source) {
  return EXCEPTIONS.reduce((text, exception) => text.replace(exception, ''), source)
    .replace(LINE_COMMENTS, joined)
    .replace(/\blet (?=\w+(:| =))/g, '') // The keyword would be part of a term with the name of a variable, as in `let in_flight`.
    .replace(/\\[nrt]/g, ' ')
    .replace(/[()[\]{}|]/g, ' ; ')
    .replace(/[^\w\s'’.,;:!?%-]+|_/g, ' ')
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
}

const { terms } = JSON.parse(readFileSync(join(here, 'textlintrc.json'), 'utf8')).rules.terminology
const term = new RegExp(`\\b(${terms.map(([pattern]) => pattern).join('|')})\\b`, 'i')
const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).trim().split('\n')

rmSync(target, { recursive: true, force: true })
mkdirSync(target)
for (const file of files.filter((file) => !SKIPPED.some((pattern) => pattern.test(file)))) {
  const text = words(readFileSync(join(root, file), 'utf8'))
  if (!term.test(text) && !READ.some((pattern) => pattern.test(file))) continue
  const path = join(target, `${file}.txt`)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}
