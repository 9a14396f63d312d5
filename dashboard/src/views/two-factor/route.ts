import type { View } from '@/views/view'

import { useTwoFactorTexts } from './texts'

const t = useTwoFactorTexts()

export default {
  routes: [
    {
      path: '/two-factor',
      name: 'two-factor',
      component: () => import('./TwoFactorView.vue'),
      meta: { title: () => t.value.title },
    },
  ],
} satisfies View
