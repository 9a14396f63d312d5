export * from './format'
export { defineTexts, locale, LOCALES, plural, zone, type Locale } from './locale'
