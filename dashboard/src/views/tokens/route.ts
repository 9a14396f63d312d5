import { t } from '@/i18n'
import type { View } from '@/views/view'

export default {
  routes: [
    {
      path: '/tokens',
      name: 'tokens',
      component: () => import('./TokensView.vue'),
      meta: { title: () => t('tokens.title'), needs: 'operator' },
    },
  ],
} satisfies View
