// The pages that are made by choosing: a colour, a logo and texts over the built-in pages. What was chosen stands in the
// first line of each page, so that it can be chosen anew; a page that was changed by hand since is left alone.
import { palette } from '@/domain/colour'

/** Where texts can stand, and on which pages. */
export const PLACES = {
  intro: { page: 'queue.html', block: 'intro' },
  notes: { page: 'queue.html', block: 'notes' },
  closed: { page: 'closed.html', block: 'intro' },
  footer: { page: 'both', block: 'footer' },
} as const
export type Place = keyof typeof PLACES
export const PLACE_NAMES = Object.keys(PLACES) as Place[]

/** The language of texts for whoever has no text of their own. */
export const OTHERS = '*'

/** What was chosen. */
export interface Guided {
  /** The theme's own colour; `null` is the tenant's. */
  colour: string | null
  /** A file of the theme; `null` is the tenant's. */
  logo: string | null
  /** Texts by place and language. */
  texts: Partial<Record<Place, Record<string, string>>>
}

export const PAGES = ['queue.html', 'closed.html'] as const
type Page = (typeof PAGES)[number]

const HEAD_LINE = /^\{# dashboard ([0-9a-f]{8}) (\{.*\}) #\}$/
const HINT = '{# Made in the dashboard; once it is changed by hand, the dashboard leaves it alone. #}'

/** Nothing chosen. */
export const nothing = (): Guided => ({ colour: null, logo: null, texts: {} })

/** The pages of what was chosen; none where nothing was. */
export function pagesOf(guided: Guided): Map<Page, string> {
  return new Map(PAGES.flatMap((page) => {
    const blocks = blocksOf(guided, page)
    if (blocks.length === 0) return []
    const body = [HINT, `{% extends "vestibule/${page}" %}`, ...blocks, ''].join('\n')
    return [[page, `${head(guided, body)}\n${body}`]]
  }))
}

/** What was chosen for pages; `undefined` if one of them was changed by hand. */
export function guidedOf(pages: ReadonlyMap<string, string>): Guided | undefined {
  const there = PAGES.filter((page) => pages.has(page))
  if (there.length === 0) return nothing()
  const [guided, ...others] = there.map((page) => chosen(pages.get(page) ?? ''))
  if (!guided || others.some((other) => JSON.stringify(other) !== JSON.stringify(guided))) return undefined
  return pagesOf(guided).size === there.length ? guided : undefined
}

function chosen(page: string): Guided | undefined {
  const end = page.indexOf('\n')
  const [, mark, json] = HEAD_LINE.exec(page.slice(0, Math.max(end, 0))) ?? []
  if (!json || mark !== markOf(page.slice(end + 1))) return undefined
  try {
    const read = JSON.parse(json) as Partial<Guided>
    return { colour: read.colour ?? null, logo: read.logo ?? null, texts: read.texts ?? {} }
  } catch {
    return undefined
  }
}

/** What ends a comment is written so that it does not. */
const head = (guided: Guided, body: string) => `{# dashboard ${markOf(body)} ${JSON.stringify(guided).replaceAll('#}', '\\u0023}')} #}`

/** Shows that a text is as it was written (FNV-1a): what later versions of the dashboard would write does not matter. */
function markOf(text: string): string {
  let mark = 0x811c9dc5
  for (const letter of text) mark = Math.imul(mark ^ (letter.codePointAt(0) ?? 0), 0x01000193)
  return (mark >>> 0).toString(16).padStart(8, '0')
}

function blocksOf({ colour, logo, texts }: Guided, page: Page): string[] {
  const said = PLACE_NAMES.filter((place) => PLACES[place].page === page || PLACES[place].page === 'both')
  return [
    colour && block('style', styles(colour).join('\n')),
    logo && block('logo', `<img class="logo" src="{{ asset_base }}${logo}" alt="{{ brand.name }}">`),
    ...said.map((place) => {
      const text = inLanguages(texts[place] ?? {}, place)
      return text && block(PLACES[place].block, `{{ super() }}\n${text}`)
    }),
  ].filter((it): it is string => Boolean(it))
}

const block = (name: string, content: string) => `{% block ${name} %}\n${content}\n{% endblock %}`

function styles(colour: string): string[] {
  const it = palette(colour)
  return [
    `:root{--brand:${it.brand};--on-brand:${it.onBrand};--accent:${it.accentLight};--page:${it.pageLight};--glow:${it.glowLight}}`,
    `@media(prefers-color-scheme:dark){:root{--accent:${it.accentDark};--page:${it.pageDark};--glow:${it.glowDark}}}`,
  ]
}

function inLanguages(texts: Record<string, string>, place: Place): string {
  const said = Object.entries(texts).filter(([, text]) => text.trim() !== '')
  const own = said.filter(([language]) => language !== OTHERS).toSorted()
  const others = said.find(([language]) => language === OTHERS)?.[1]
  if (own.length === 0) return others === undefined ? '' : paragraph(others, place)
  const branches = own.map(([language, text], index) => `{% ${index ? 'elif' : 'if'} lang == "${language}" %}\n${paragraph(text, place)}`)
  return [...branches, ...(others === undefined ? [] : [`{% else %}\n${paragraph(others, place)}`]), '{% endif %}'].join('\n')
}

/** What is only for those who wait goes away once they are let in, with and without a script. */
const WAITING = ' class="lead" data-vestibule="keep"{% if state == "admitted" %} hidden{% endif %}'

/** A text is written as a value, so that nothing in it is taken for markup or for a template. */
function paragraph(text: string, place: Place): string {
  const attributes = { intro: WAITING, notes: WAITING, closed: ' class="lead"', footer: '' }[place]
  return `<p${attributes}>{{ ${JSON.stringify(text.trim())} }}</p>`
}
