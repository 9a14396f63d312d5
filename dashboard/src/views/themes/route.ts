import { Palette } from '@lucide/vue'

import { t } from '@/i18n'
import type { View } from '@/views/view'

export default {
  routes: [
    {
      path: '/themes',
      name: 'themes',
      component: () => import('./ThemesView.vue'),
      meta: { title: () => t('themes.title') },
    },
    {
      path: '/themes/:theme',
      name: 'theme',
      component: () => import('./ThemeView.vue'),
      props: true,
      meta: { title: () => t('themes.one'), under: 'themes' },
    },
  ],
  link: { to: 'themes', label: () => t('themes.title'), icon: Palette, order: 35 },
} satisfies View
