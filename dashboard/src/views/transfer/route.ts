import { ArrowDownUp } from '@lucide/vue'

import type { View } from '@/views/view'

import { useTransferTexts } from './texts'

const t = useTransferTexts()

export default {
  routes: [
    {
      path: '/transfer',
      name: 'transfer',
      component: () => import('./TransferView.vue'),
      meta: { title: () => t.value.title },
    },
  ],
  link: { to: 'transfer', label: () => t.value.link, icon: ArrowDownUp, order: 70 },
} satisfies View
