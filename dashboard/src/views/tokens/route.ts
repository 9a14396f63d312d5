import type { View } from '@/views/view'

import { useTokenTexts } from './texts'

const t = useTokenTexts()

export default {
  routes: [
    {
      path: '/tokens',
      name: 'tokens',
      component: () => import('./TokensView.vue'),
      meta: { title: () => t.value.title, needs: 'operator' },
    },
  ],
} satisfies View
