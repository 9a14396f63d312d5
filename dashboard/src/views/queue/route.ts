import type { RouteRecordRaw } from 'vue-router'

import { t } from '@/i18n'
import type { View } from '@/views/view'

const page = (path: string, name: string, title: () => string, component: RouteRecordRaw['component']): RouteRecordRaw =>
  ({ path, name, component, meta: { title, under: 'overview' } }) as RouteRecordRaw

export default {
  routes: [
    {
      path: '/queues/:queue',
      component: () => import('./QueueView.vue'),
      props: true,
      children: [
        page('', 'queue', () => t('queue.live'), () => import('./live/LivePage.vue')),
        page('settings', 'queue-settings', () => t('queue.settings'), () => import('./settings/SettingsPage.vue')),
        page('rules', 'queue-rules', () => t('queue.rules'), () => import('./rules/RulesPage.vue')),
        page('sessions', 'queue-sessions', () => t('queue.sessions'), () => import('./sessions/SessionsPage.vue')),
        page('log', 'queue-log', () => t('queue.log'), () => import('./log/LogPage.vue')),
        page('setup', 'queue-setup', () => t('queue.setup'), () => import('./setup/SetupPage.vue')),
        page('integration', 'queue-integration', () => t('queue.integration'), () => import('./integration/IntegrationPage.vue')),
      ],
    },
  ],
} satisfies View
