import type { RouteRecordRaw } from 'vue-router'

import type { View } from '@/views/view'

import { useQueueTexts } from './texts'

const t = useQueueTexts()

const page = (path: string, name: string, title: () => string, component: RouteRecordRaw['component']): RouteRecordRaw =>
  ({ path, name, component, meta: { title, under: 'overview' } }) as RouteRecordRaw

export default {
  routes: [
    {
      path: '/queues/:queue',
      component: () => import('./QueueView.vue'),
      props: true,
      children: [
        page('', 'queue', () => t.value.live, () => import('./live/LivePage.vue')),
        page('settings', 'queue-settings', () => t.value.settings, () => import('./settings/SettingsPage.vue')),
        page('rules', 'queue-rules', () => t.value.rules, () => import('./rules/RulesPage.vue')),
        page('sessions', 'queue-sessions', () => t.value.sessions, () => import('./sessions/SessionsPage.vue')),
        page('log', 'queue-log', () => t.value.log, () => import('./log/LogPage.vue')),
        page('setup', 'queue-setup', () => t.value.setup, () => import('./setup/SetupPage.vue')),
        page('site', 'queue-site', () => t.value.site, () => import('./site/SitePage.vue')),
      ],
    },
  ],
} satisfies View
