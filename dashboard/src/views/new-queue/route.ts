import { t } from '@/i18n'
import type { View } from '@/views/view'

export default {
  routes: [
    {
      path: '/queues/new',
      name: 'new-queue',
      component: () => import('./NewQueueView.vue'),
      meta: { title: () => t('newQueue.title'), needs: 'operator', under: 'overview' },
    },
  ],
} satisfies View
