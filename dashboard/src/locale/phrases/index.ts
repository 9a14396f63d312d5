import { locale, type Locale } from '../locale'
import { de } from './de'
import { en } from './en'
import { fill, type Phrase, type PhraseCode, type Saying, type Words } from './phrase'

export type { Phrase } from './phrase'

/** The server's phrases in every language. The compiler names those that one lacks; English is the server's own. */
export const SAYINGS: { en: Saying } & Record<Exclude<Locale, 'en'>, Record<PhraseCode, Words>> = { en, de }

/** What the server says, in the operator's language; in the server's words where there are none. */
export function say(phrase: Phrase | undefined, message: string): string {
  return (phrase && fill(phrase, SAYINGS[locale.value])) ?? message
}

/** The same, as a sentence of its own. */
export function sentence(phrase: Phrase | undefined, message: string): string {
  const text = say(phrase, message)
  return `${text.charAt(0).toLocaleUpperCase(locale.value)}${text.slice(1)}${/[.!?…]$/.test(text) ? '' : '.'}`
}
