import { t } from '@/i18n'

/** Name of a field of an event in its form, or that of the API. */
export function eventFieldName(field: string): string {
  switch (field) {
    case 'name':
      return t('events.name')
    case 'starts_at':
      return t('events.starts')
    case 'ends_at':
      return t('events.ends')
    case 'lobby_at':
      return t('events.lobbyOpens')
    case 'order':
      return t('events.order')
    case 'draw_seconds':
      return t('events.drawSeconds')
    case 'salt':
      return t('events.salt')
    case 'key':
      return t('events.key')
    case 'beacon':
      return t('events.beacon')
    case 'suspended':
      return t('events.phases.suspended')
    default:
      return field
  }
}
