import { t } from '@/i18n'
import type { View } from '@/views/view'


export default {
  routes: [
    // Where one looks for it; no queue has this id in its address then.
    { path: '/queues/new', redirect: { name: 'new-queue' } },
    {
      path: '/new-queue',
      name: 'new-queue',
      component: () => import('./NewQueueView.vue'),
      meta: { title: () => t('newQueue.title'), needs: 'operator', under: 'overview' },
    },
  ],
} satisfies View
