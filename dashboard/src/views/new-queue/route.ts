import type { View } from '@/views/view'

import { useNewQueueTexts } from './texts'

const t = useNewQueueTexts()

export default {
  routes: [
    // Where one looks for it; no queue has this id in its address then.
    { path: '/queues/new', redirect: { name: 'new-queue' } },
    {
      path: '/new-queue',
      name: 'new-queue',
      component: () => import('./NewQueueView.vue'),
      meta: { title: () => t.value.title, needs: 'operator', under: 'overview' },
    },
  ],
} satisfies View
