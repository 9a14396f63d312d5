import { Users } from '@lucide/vue'

import { t } from '@/i18n'
import type { View } from '@/views/view'

export default {
  routes: [
    {
      path: '/operators',
      name: 'operators',
      component: () => import('./OperatorsView.vue'),
      meta: { title: () => t('operators.title'), needs: 'superuser' },
    },
  ],
  link: { to: 'operators', label: () => t('operators.title'), icon: Users, order: 40, needs: 'superuser' },
} satisfies View
