import { defineTexts } from '@/locale'

export const useSignInTexts = defineTexts({
  en: {
    title: 'Sign in',
    lead: 'To the backoffice of Vestibule',
    name: 'Name',
    password: 'Password',
    signIn: 'Sign in',
    lapsed: 'Your sign-in ended. Sign in again to go on where you were.',
    language: 'Language',
  },
  de: {
    title: 'Anmelden',
    lead: 'Beim Backoffice von Vestibule',
    name: 'Name',
    password: 'Passwort',
    signIn: 'Anmelden',
    lapsed: 'Ihre Anmeldung ist abgelaufen. Nach der nächsten geht es weiter, wo Sie waren.',
    language: 'Sprache',
  },
})
