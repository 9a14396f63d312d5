import { t } from '@/i18n'
import type { View } from '@/views/view'

export default {
  routes: [
    {
      path: '/sign-in',
      name: 'sign-in',
      component: () => import('./SignInView.vue'),
      meta: { title: () => t('signIn.title'), isPublic: true },
    },
  ],
} satisfies View
