export * from './format'
export { i18n, loadLocale, locale, LOCALES, setLocale, t, te, zone, ZONES, type Locale } from './i18n'
