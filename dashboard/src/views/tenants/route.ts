import { Building2 } from '@lucide/vue'

import { t } from '@/i18n'
import type { View } from '@/views/view'

export default {
  routes: [
    {
      path: '/tenants',
      name: 'tenants',
      component: () => import('./TenantsView.vue'),
      meta: { title: () => t('tenants.title') },
    },
  ],
  link: { to: 'tenants', label: () => t('tenants.title'), icon: Building2, order: 30 },
} satisfies View
