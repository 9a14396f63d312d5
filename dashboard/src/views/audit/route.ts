import { ScrollText } from '@lucide/vue'

import { t } from '@/i18n'
import type { View } from '@/views/view'

export default {
  routes: [
    {
      path: '/audit',
      name: 'audit',
      component: () => import('./AuditView.vue'),
      meta: { title: () => t('audit.title') },
    },
  ],
  link: { to: 'audit', label: () => t('audit.title'), icon: ScrollText, order: 60 },
} satisfies View
