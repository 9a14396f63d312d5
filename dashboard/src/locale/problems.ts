import type { Problem } from '@/services/problem'

import { defineTexts } from './locale'
import { sentence } from './phrases'

const useTexts = defineTexts({
  en: {
    unreachable: 'The server does not respond. A change may or may not have been applied. Check the current values before you try again.',
    unexpected: 'The server gave an unexpected response. A change may or may not have been applied; the server log says more.',
  },
  de: {
    unreachable: 'Der Server antwortet nicht. Ob eine Änderung übernommen wurde, ist nicht bekannt. Prüfen Sie die aktuellen Werte, bevor Sie es noch einmal versuchen.',
    unexpected: 'Der Server hat unerwartet geantwortet. Ob eine Änderung übernommen wurde, ist nicht bekannt; mehr steht im Protokoll des Servers.',
  },
})

/** What went wrong, as a sentence in the operator's language. */
export function describe(problem: Problem): string {
  const t = useTexts().value
  if (problem.code === 'unreachable') return t.unreachable
  return problem.message ? sentence(problem, problem.message) : t.unexpected
}
