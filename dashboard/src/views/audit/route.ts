import { ScrollText } from '@lucide/vue'

import type { View } from '@/views/view'

import { useAuditTexts } from './texts'

const t = useAuditTexts()

export default {
  routes: [
    {
      path: '/audit',
      name: 'audit',
      component: () => import('./AuditView.vue'),
      meta: { title: () => t.value.title },
    },
  ],
  link: { to: 'audit', label: () => t.value.title, icon: ScrollText, order: 60 },
} satisfies View
