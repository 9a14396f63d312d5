import { ArrowDownUp } from '@lucide/vue'

import { t } from '@/i18n'
import type { View } from '@/views/view'

export default {
  routes: [
    {
      path: '/transfer',
      name: 'transfer',
      component: () => import('./TransferView.vue'),
      meta: { title: () => t('transfer.title') },
    },
  ],
  link: { to: 'transfer', label: () => t('transfer.link'), icon: ArrowDownUp, order: 70 },
} satisfies View
