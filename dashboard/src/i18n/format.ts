import { computed } from 'vue'

import { browserLanguages, locale, t, zone } from './i18n'

/** Stands for an unknown value. */
export const NONE = '–'

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** The language with the region of the browser: `en-US` formats dates differently than `en-GB`. */
const tag = computed(() => {
  const regional = browserLanguages.value.find((language) => language.split('-')[0] === locale.value && language.includes('-'))
  return regional ?? (locale.value === 'en' ? 'en-GB' : locale.value)
})

const numbers = computed(() => new Intl.NumberFormat(tag.value, { maximumFractionDigits: 0 }))
const rates = computed(() => new Intl.NumberFormat(tag.value, { maximumFractionDigits: 1 }))
const shares = computed(() => new Intl.NumberFormat(tag.value, { style: 'percent', maximumFractionDigits: 0 }))
const clock = computed(() => date({ hour: '2-digit', minute: '2-digit', second: '2-digit' }))
const short = computed(() => date({ day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' }))
const shortWithYear = computed(() => date({ day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' }))
const years = computed(() => new Intl.DateTimeFormat('en', { timeZone: zone.value, year: 'numeric' }))
const hours = computed(() => date({ hour: '2-digit', minute: '2-digit' }))
const monthDays = computed(() => date({ day: 'numeric', month: 'short' }))
const full = computed(() => date({ dateStyle: 'full', timeStyle: 'long' }))
const relative = computed(() => new Intl.RelativeTimeFormat(tag.value, { numeric: 'auto' }))
const days = computed(() => date({ day: 'numeric', month: 'short', year: 'numeric' }))
// Days and months of a calendar are no instants: they are formatted as if they began in UTC.
const calendarDays = computed(() => date({ timeZone: 'UTC', weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' }))
const calendarMonths = computed(() => date({ timeZone: 'UTC', month: 'long', year: 'numeric' }))
const weekdays = computed(() => date({ timeZone: 'UTC', weekday: 'short' }))

type Number = number | null | undefined
type Unit = 'day' | keyof typeof SIGNS

const SIGNS = { second: 's', minute: 'min', hour: 'h', byte: 'B', kilobyte: 'kB', megabyte: 'MB' }
/** A whole number: `1,204`. */
export const count = (value: Number) => (isNone(value) ? NONE : numbers.value.format(value))

/** A rate, with one decimal below 10: `7.5`. */
export const rate = (value: Number) => (isNone(value) ? NONE : (value < 10 ? rates : numbers).value.format(value))

/** A share: `0.42` is `42%`. */
export const percent = (value: Number) => (isNone(value) ? NONE : shares.value.format(value))

/** A size: `12 kB`. */
export function bytes(size: Number): string {
  if (isNone(size)) return NONE
  if (size < 1_000) return `${numbers.value.format(size)}\u00a0B`
  return size < 1_000_000 ? `${numbers.value.format(size / 1_000)}\u00a0kB` : `${rates.value.format(size / 1_000_000)}\u00a0MB`
}

/** A time in seconds, in its two largest units: `4 min 20 s`. */
export function duration(seconds: Number): string {
  if (isNone(seconds)) return NONE
  const whole = Math.round(seconds)
  if (whole < MINUTE) return unit(whole, 'second')
  if (whole < HOUR) return units(whole, MINUTE, 'minute', 'second')
  return whole < DAY ? units(whole, HOUR, 'hour', 'minute') : units(whole, DAY, 'day', 'hour')
}

/** A rounded wait: `12 min`. */
export function wait(seconds: Number): string {
  if (isNone(seconds)) return NONE
  if (seconds < MINUTE) return unit(Math.round(seconds), 'second')
  return seconds < HOUR ? unit(Math.round(seconds / MINUTE), 'minute') : duration(Math.round(seconds / MINUTE) * MINUTE)
}

/** The time of day: `19:00:05`. */
export const time = (at: Number) => (isNone(at) ? NONE : clock.value.format(at * 1000))

/** The time of day to the minute: `19:00`. */
export const minute = (at: Number) => (isNone(at) ? NONE : hours.value.format(at * 1000))

/** Day and time: `3 Nov, 19:00`, or `3 Nov 2029, 19:00` in another year than the current one. */
export function dateTime(at: Number): string {
  if (isNone(at)) return NONE
  const isThisYear = years.value.format(at * 1000) === years.value.format(Date.now())
  return (isThisYear ? short : shortWithYear).value.format(at * 1000)
}

/** The day: `3 Nov 2026`. */
export const day = (at: Number) => (isNone(at) ? NONE : days.value.format(at * 1000))

/** A label of a time axis: `19:00`, with seconds if labels are less than a minute apart, or `3 Nov` if they are a day or more apart. */
export const mark = (at: number, apart: number) => (apart >= DAY ? monthDays : apart < MINUTE ? clock : hours).value.format(at * 1000)

/** How long ago a time was, in its largest unit: `3 minutes ago`. */
export function ago(at: Number, now: number): string {
  if (isNone(at)) return NONE
  const seconds = Math.max(0, now - at)
  if (seconds < HOUR) return relative.value.format(-Math.floor(seconds / MINUTE), 'minute')
  return seconds < DAY ? relative.value.format(-Math.floor(seconds / HOUR), 'hour') : inDays(-Math.floor(seconds / DAY))
}

/** A number of days from today: `tomorrow`, `in 5 days`. */
export const inDays = (days: number) => relative.value.format(days, 'day')

/** A day such as `2026-11-03` in words: `Tuesday 3 November 2026`. */
export const dayName = (day: string) => calendarDays.value.format(Date.parse(day))

/** A month such as `2026-11` in words: `November 2026`. */
export const monthName = (month: string) => calendarMonths.value.format(Date.parse(month))

/** The day of the week in short: `Tue`. */
export const weekdayName = (day: string) => weekdays.value.format(Date.parse(day))

/** Full date and time with the zone. */
export const wholeTime = (at: Number) => (isNone(at) ? NONE : full.value.format(at * 1000))

function date(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat(tag.value, { timeZone: zone.value, ...options })
}

function units(seconds: number, size: number, large: Unit, small: Unit): string {
  const rest = Math.floor((seconds % size) / (size === MINUTE ? 1 : size === HOUR ? MINUTE : HOUR))
  const first = unit(Math.floor(seconds / size), large)
  return rest === 0 ? first : `${first} ${unit(rest, small)}`
}

/** A value with its unit symbol, which needs no plural. */
function unit(value: number, name: Unit): string {
  return `${rates.value.format(value)}\u00a0${name === 'day' ? t('units.day') : SIGNS[name]}`
}

function isNone(value: Number): value is null | undefined {
  return value === null || value === undefined
}

/** Name of a language in the operator's language. */
export const languageName = (code: string) => new Intl.DisplayNames([locale.value], { type: 'language' }).of(code) ?? code

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/

/** Day and time, with the seconds unless they are 0. */
const instantText = (at: number) => (at % MINUTE === 0 ? dateTime(at) : wholeTime(at))

/** Value of a setting on one line, with times in the chosen zone. */
export function settingValue(value: unknown): string {
  if (value === null || value === undefined || value === '') return NONE
  if (Array.isArray(value)) return value.length === 0 ? NONE : value.map(settingValue).join(', ')
  if (typeof value === 'string') return RFC_3339.test(value) ? instantText(Date.parse(value) / 1000) : value
  if (typeof value !== 'object') return String(value)
  const members = Object.entries(value).filter(([, member]) => member !== null)
  return members.map(([name, member]) => `${name}: ${settingValue(member)}`).join(' · ')
}
