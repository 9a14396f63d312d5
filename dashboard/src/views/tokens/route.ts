import { KeyRound } from '@lucide/vue'

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
  link: { to: 'tokens', label: () => t.value.title, icon: KeyRound, order: 50, needs: 'operator' },
} satisfies View
