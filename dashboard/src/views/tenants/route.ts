import { Building2 } from '@lucide/vue'

import type { View } from '@/views/view'

import { useTenantTexts } from './texts'

const t = useTenantTexts()

export default {
  routes: [
    {
      path: '/tenants',
      name: 'tenants',
      component: () => import('./TenantsView.vue'),
      meta: { title: () => t.value.title },
    },
  ],
  link: { to: 'tenants', label: () => t.value.title, icon: Building2, order: 30 },
} satisfies View
