import { Users } from '@lucide/vue'

import type { View } from '@/views/view'

import { useOperatorTexts } from './texts'

const t = useOperatorTexts()

export default {
  routes: [
    {
      path: '/operators',
      name: 'operators',
      component: () => import('./OperatorsView.vue'),
      meta: { title: () => t.value.title, needs: 'superuser' },
    },
  ],
  link: { to: 'operators', label: () => t.value.title, icon: Users, order: 40, needs: 'superuser' },
} satisfies View
