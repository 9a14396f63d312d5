import { LayoutDashboard } from '@lucide/vue'

import { t } from '@/i18n'
import type { View } from '@/views/view'

export default {
  routes: [
    {
      path: '/',
      name: 'overview',
      component: () => import('./OverviewView.vue'),
      meta: { title: () => t('overview.title') },
    },
  ],
  link: { to: 'overview', label: () => t('overview.title'), icon: LayoutDashboard, order: 10 },
} satisfies View
