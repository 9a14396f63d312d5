import type { View } from '@/views/view'

import { useSignInTexts } from './texts'

const t = useSignInTexts()

export default {
  routes: [
    {
      path: '/sign-in',
      name: 'sign-in',
      component: () => import('./SignInView.vue'),
      meta: { title: () => t.value.title, isPublic: true },
    },
  ],
} satisfies View
