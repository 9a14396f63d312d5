import { locale } from '@/locale'

/** What a language is called, in the operator's. */
export const languageName = (code: string) => new Intl.DisplayNames([locale.value], { type: 'language' }).of(code) ?? code
