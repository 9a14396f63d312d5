import { t } from '@/i18n'

/** Name of a field of a batch in its form, or that of the API. */
export function batchFieldName(field: string): string {
  switch (field) {
    case 'name':
      return t('invitations.name')
    case 'head_start':
      return t('invitations.headStart')
    case 'count':
      return t('invitations.count')
    case 'from':
      return t('invitations.from')
    case 'until':
      return t('invitations.until')
    case 'revoked':
      return t('invitations.states.revoked')
    default:
      return field
  }
}
