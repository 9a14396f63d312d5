import { t } from '@/i18n'
import type { View } from '@/views/view'

export default {
  routes: [
    {
      path: '/two-factor',
      name: 'two-factor',
      component: () => import('./TwoFactorView.vue'),
      meta: { title: () => t('twoFactor.title') },
    },
  ],
} satisfies View
