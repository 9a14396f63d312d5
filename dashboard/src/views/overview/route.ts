import { LayoutDashboard } from '@lucide/vue'

import type { View } from '@/views/view'

import { useOverviewTexts } from './texts'

const t = useOverviewTexts()

export default {
  routes: [
    {
      path: '/',
      name: 'overview',
      component: () => import('./OverviewView.vue'),
      meta: { title: () => t.value.title },
    },
  ],
  link: { to: 'overview', label: () => t.value.title, icon: LayoutDashboard, order: 10 },
} satisfies View
