import { defineTexts } from '@/locale'

/** What is said about signing in through an identity provider; problems by the codes of the API. */
export const useProviderTexts = defineTexts({
  en: {
    label: 'Identity provider',
    through: (name: string) => `Sign in with ${name}`,
    or: 'or by name and password',
    problem: 'The sign-in came to nothing. Try again.',
    problems: {
      no_provider: 'There is no identity provider here any more. Sign in by name and password.',
      provider_unavailable: 'The identity provider gives no answer. Try again in a moment.',
      provider_refused: 'The identity provider refused the sign-in. Try again, or ask whoever looks after it.',
      slowed: 'Too many sign-ins failed. Try again in a few minutes.',
      store_unavailable: 'The store gives no answer. Try again in a moment.',
      attempt_lapsed: 'That took too long, or was begun in another browser. Begin again here.',
      wrong_state: 'This answer belongs to another sign-in. Begin again here.',
      not_proven: 'The identity provider’s answer could not be verified. Try again; the server’s log says more.',
      nameless: 'The identity provider told no name to know you by. Whoever set it up has to change that.',
      unknown_operator: 'You are known to the identity provider, but nobody made you an operator here. Ask a superuser.',
    } as Record<string, string>,
  },
  de: {
    label: 'Identitätsanbieter',
    through: (name: string) => `Mit ${name} anmelden`,
    or: 'oder mit Name und Passwort',
    problem: 'Aus der Anmeldung wurde nichts. Noch einmal versuchen.',
    problems: {
      no_provider: 'Hier gibt es keinen Identitätsanbieter mehr. Melden Sie sich mit Name und Passwort an.',
      provider_unavailable: 'Der Identitätsanbieter antwortet nicht. Gleich noch einmal versuchen.',
      provider_refused: 'Der Identitätsanbieter hat die Anmeldung abgelehnt. Noch einmal versuchen, oder fragen, wer ihn betreut.',
      slowed: 'Zu viele Anmeldungen sind fehlgeschlagen. In ein paar Minuten noch einmal versuchen.',
      store_unavailable: 'Der Speicher antwortet nicht. Gleich noch einmal versuchen.',
      attempt_lapsed: 'Das hat zu lange gedauert oder begann in einem anderen Browser. Hier neu beginnen.',
      wrong_state: 'Diese Antwort gehört zu einer anderen Anmeldung. Hier neu beginnen.',
      not_proven: 'Die Antwort des Identitätsanbieters ließ sich nicht prüfen. Noch einmal versuchen; das Protokoll des Servers sagt mehr.',
      nameless: 'Der Identitätsanbieter nannte keinen Namen, an dem wir Sie erkennen. Wer ihn eingerichtet hat, muss das ändern.',
      unknown_operator: 'Der Identitätsanbieter kennt Sie, aber niemand hat Sie hier als Bediener angelegt. Fragen Sie jemanden, der verwalten darf.',
    },
  },
})
