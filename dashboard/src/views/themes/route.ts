import { Palette } from '@lucide/vue'

import type { View } from '@/views/view'

import { useThemeTexts } from './texts'

const t = useThemeTexts()

export default {
  routes: [
    {
      path: '/themes',
      name: 'themes',
      component: () => import('./ThemesView.vue'),
      meta: { title: () => t.value.title },
    },
    {
      path: '/themes/:theme',
      name: 'theme',
      component: () => import('./ThemeView.vue'),
      props: true,
      meta: { title: () => t.value.one, under: 'themes' },
    },
  ],
  link: { to: 'themes', label: () => t.value.title, icon: Palette, order: 35 },
} satisfies View
