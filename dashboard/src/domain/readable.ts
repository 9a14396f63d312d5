import { NONE } from '@/locale'

/** A setting's value on one line. */
export function readable(value: unknown): string {
  if (value === null || value === undefined || value === '') return NONE
  if (Array.isArray(value)) return value.length === 0 ? NONE : value.map(readable).join(', ')
  if (typeof value !== 'object') return String(value)
  const members = Object.entries(value).filter(([, member]) => member !== null)
  return members.map(([name, member]) => `${name}: ${readable(member)}`).join(' · ')
}
