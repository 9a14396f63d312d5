import type { Problem } from '@/api/problem'

import { t, te } from './i18n'
import { fieldError } from './server-text'

/** Name of a queue's mode; an unknown mode is shown as it is. */
export const modeName = (mode: string) => translated(`modes.${mode}.name`, mode)

/** Name of a role. */
export const roleName = (role: string) => translated(`roles.names.${role}`, role)

/** Name of a queue's setting. */
export const fieldName = (field: string) => translated(`fields.${field}.label`, field)

/** Label and hint of a setting's control. */
export function fieldText(field: string): { label: string; hint?: string } {
  const hint = `fields.${field}.hint`
  return { label: fieldName(field), ...(te(hint) && { hint: t(hint) }) }
}

/** Label, hint and error of a setting's control. `path` is the setting in the API, if its text has another name. */
export const fieldProps = (problem: Problem | undefined, field: string, path = field) => ({ ...fieldText(field), error: fieldError(problem, path) })

function translated(key: string, otherwise: string): string {
  return te(key) ? t(key) : otherwise
}
