import type { View } from '@/views/view'

import { useNewQueueTexts } from './texts'

const t = useNewQueueTexts()

export default {
  routes: [
    {
      path: '/new-queue',
      name: 'new-queue',
      component: () => import('./NewQueueView.vue'),
      meta: { title: () => t.value.title, needs: 'operator', under: 'overview' },
    },
  ],
} satisfies View
