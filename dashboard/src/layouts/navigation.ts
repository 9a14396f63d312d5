import type { Component } from 'vue'
import { ArrowDownUp, Building2, CalendarDays, LayoutDashboard, ListChecks, Palette, ScrollText, Search, Users } from '@lucide/vue'

import type { Role } from '@/api/types'
import { t } from '@/i18n'

/**
 * Links of the main navigation. `needs` is the role of the route's `meta.needs`. A link with `ofJobQueues` is shown only where
 * there are job queues.
 */
export const navigation: { to: string; label: () => string; icon: Component; needs?: Role; ofJobQueues?: boolean }[] = [
  { to: 'overview', label: () => t('overview.title'), icon: LayoutDashboard },
  { to: 'calendar', label: () => t('calendar.title'), icon: CalendarDays },
  { to: 'job-queues', label: () => t('jobQueues.title'), icon: ListChecks, ofJobQueues: true },
  { to: 'visitors', label: () => t('sessions.visitors'), icon: Search },
  { to: 'tenants', label: () => t('tenants.title'), icon: Building2 },
  { to: 'themes', label: () => t('themes.title'), icon: Palette },
  { to: 'operators', label: () => t('operators.title'), icon: Users, needs: 'superuser' },
  { to: 'audit', label: () => t('audit.title'), icon: ScrollText },
  { to: 'transfer', label: () => t('transfer.link'), icon: ArrowDownUp },
]
