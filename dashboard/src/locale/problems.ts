import type { Problem } from '@/services/problem'

import { defineTexts } from './locale'
import { sentence } from './phrases'

const useTexts = defineTexts({
  en: {
    unreachable: 'The server gives no answer. Nothing is known to have been changed; look before you try again.',
    unexpected: 'The server answered with something unexpected. Try again; its log says more.',
  },
  de: {
    unreachable: 'Der Server antwortet nicht. Ob etwas geändert wurde, ist nicht bekannt: erst nachsehen, dann wiederholen.',
    unexpected: 'Der Server hat etwas Unerwartetes geantwortet. Noch einmal versuchen; sein Protokoll sagt mehr.',
  },
})

/** What went wrong, as a sentence in the operator's language. */
export function describe(problem: Problem): string {
  const t = useTexts().value
  if (problem.code === 'unreachable') return t.unreachable
  return problem.message ? sentence(problem, problem.message) : t.unexpected
}
