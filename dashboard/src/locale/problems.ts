import type { Problem } from '@/services/problem'

import { duration } from './format'
import { defineTexts } from './locale'

const useTexts = defineTexts({
  en: {
    unreachable: 'The server gives no answer. Nothing is known to have been changed; look before you try again.',
    unexpected: 'The server answered with something unexpected. Try again; its log says more.',
    store_unavailable: 'The store gives no answer, so nothing was changed. Try again in a moment.',
    wrong_password: 'Name or password are wrong.',
    slowed: (wait: string) => `Sign-ins failed too often. The next is taken in ${wait}.`,
    not_allowed: 'Your role does not allow this.',
    unknown: 'There is none of this name that you may see.',
    wrong_fields: 'Some fields are not right yet.',
    contradiction: 'This contradicts another queue.',
    changed_meanwhile: 'Somebody else changed this meanwhile.',
    busy: 'Others change the same at this very moment. Try again.',
    taken: 'There is one of this name already.',
    full: 'There are as many as there may be. Remove one that is not needed any more.',
    too_large: 'That is larger than the server takes.',
    bad_body: 'The server can’t read that.',
    no_themes: 'Themes are kept nowhere: the program was started without a place for them.',
    themes_unavailable: 'The place where themes are kept gives no answer. Try again in a moment.',
    broken_theme: 'The theme does not work.',
  },
  de: {
    unreachable: 'Der Server antwortet nicht. Ob etwas geändert wurde, ist nicht bekannt: erst nachsehen, dann wiederholen.',
    unexpected: 'Der Server hat etwas Unerwartetes geantwortet. Noch einmal versuchen; sein Protokoll sagt mehr.',
    store_unavailable: 'Der Speicher antwortet nicht, deshalb wurde nichts geändert. Gleich noch einmal versuchen.',
    wrong_password: 'Name oder Passwort stimmen nicht.',
    slowed: (wait: string) => `Zu viele Anmeldungen sind fehlgeschlagen. Die nächste geht in ${wait}.`,
    not_allowed: 'Ihre Rolle erlaubt das nicht.',
    unknown: 'Unter diesem Namen gibt es nichts, das Sie sehen dürfen.',
    wrong_fields: 'Einige Felder stimmen noch nicht.',
    contradiction: 'Das widerspricht einer anderen Warteschlange.',
    changed_meanwhile: 'Jemand anderes hat das inzwischen geändert.',
    busy: 'Andere ändern gerade dasselbe. Noch einmal versuchen.',
    taken: 'Diesen Namen gibt es schon.',
    full: 'Es sind so viele da, wie es geben darf. Entfernen Sie zuerst, was nicht mehr gebraucht wird.',
    too_large: 'Das ist größer, als der Server nimmt.',
    bad_body: 'Der Server kann das nicht lesen.',
    no_themes: 'Für Themes gibt es keinen Ort: Das Programm wurde ohne einen gestartet.',
    themes_unavailable: 'Der Ort der Themes antwortet nicht. Gleich noch einmal versuchen.',
    broken_theme: 'Das Theme funktioniert nicht.',
  },
})

/** What went wrong, as a sentence in the operator's language; in the API's own words where there is none. */
export function describe(problem: Problem): string {
  const texts: Record<string, string | ((wait: string) => string)> = useTexts().value
  const text = texts[problem.code]
  if (typeof text === 'function') return text(duration(problem.retryAfter))
  return text ?? (problem.message || useTexts().value.unexpected)
}
