import { defineTexts } from '@/locale'

export const useSignInTexts = defineTexts({
  en: {
    title: 'Sign in',
    lead: 'To the backoffice of Vestibule',
    name: 'Name',
    password: 'Password',
    signIn: 'Sign in',
    code: 'Code',
    codeHint: 'From your authenticator app, or a recovery code.',
    verify: 'Verify',
    back: 'Back',
    lapsed: 'Your sign-in ended. Sign in again to go on where you were.',
    language: 'Language',
  },
  de: {
    title: 'Anmelden',
    lead: 'Beim Backoffice von Vestibule',
    name: 'Name',
    password: 'Passwort',
    signIn: 'Anmelden',
    code: 'Code',
    codeHint: 'Aus Ihrer Authenticator-App, oder ein Wiederherstellungscode.',
    verify: 'Bestätigen',
    back: 'Zurück',
    lapsed: 'Ihre Anmeldung ist abgelaufen. Nach der nächsten geht es weiter, wo Sie waren.',
    language: 'Sprache',
  },
})
