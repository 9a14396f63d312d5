import type { Component } from 'vue'
import type { RouteLocationNormalized, RouteRecordRaw } from 'vue-router'

import type { Role } from '@/api/types'
import { t } from '@/i18n'

declare module 'vue-router' {
  interface RouteMeta {
    /** Title of the page in the browser's tab. */
    title: () => string
    /** The role that the page needs. */
    needs?: Role
    /** Whether the page is available without a sign-in. */
    isPublic?: boolean
    /** Route name of the navigation link that is current on this page, if it is another page's. */
    under?: string
  }
}

type Page = () => Promise<{ default: Component }>

const queuePage = (path: string, name: string, key: string, component: Page) =>
  ({ path, name, component, meta: { title: () => t(`queue.${key}`), under: 'overview' } })

export const routes: RouteRecordRaw[] = [
  { path: '/', name: 'overview', component: () => import('@/views/overview/OverviewView.vue'), meta: { title: () => t('overview.title') } },
  { path: '/calendar', name: 'calendar', component: () => import('@/views/calendar/CalendarView.vue'), meta: { title: () => t('calendar.title') } },
  {
    path: '/queues/new',
    name: 'new-queue',
    component: () => import('@/views/new-queue/NewQueueView.vue'),
    meta: { title: () => t('newQueue.title'), needs: 'operator', under: 'overview' },
  },
  {
    path: '/queues/:queue/overlay',
    name: 'queue-overlay',
    component: () => import('@/views/queue/overlay/OverlayView.vue'),
    props: true,
    meta: { title: () => t('overlay.title'), isPublic: true },
  },
  {
    path: '/queues/:queue',
    component: () => import('@/views/queue/QueueView.vue'),
    props: true,
    children: [
      queuePage('', 'queue', 'live', () => import('@/views/queue/live/LivePage.vue')),
      queuePage('settings', 'queue-settings', 'settings', () => import('@/views/queue/settings/SettingsPage.vue')),
      queuePage('rules', 'queue-rules', 'rules', () => import('@/views/queue/rules/RulesPage.vue')),
      queuePage('events', 'queue-events', 'events', () => import('@/views/queue/events/EventsPage.vue')),
      queuePage('invitations', 'queue-invitations', 'invitations', () => import('@/views/queue/invitations/InvitationsPage.vue')),
      queuePage('protection', 'queue-protection', 'protection', () => import('@/views/queue/protection/ProtectionPage.vue')),
      { ...queuePage('events/:event/report', 'queue-event-report', 'report', () => import('@/views/queue/report/ReportPage.vue')), props: ({ params }: RouteLocationNormalized) => ({ event: params.event }) },
      queuePage('report', 'queue-report', 'report', () => import('@/views/queue/report/ReportPage.vue')),
      queuePage('sessions', 'queue-sessions', 'sessions', () => import('@/views/queue/sessions/SessionsPage.vue')),
      queuePage('log', 'queue-log', 'log', () => import('@/views/queue/log/LogPage.vue')),
      queuePage('setup', 'queue-setup', 'setup', () => import('@/views/queue/setup/SetupPage.vue')),
      queuePage('integration', 'queue-integration', 'integration', () => import('@/views/queue/integration/IntegrationPage.vue')),
    ],
  },
  {
    path: '/job-queues',
    name: 'job-queues',
    component: () => import('@/views/job-queues/JobQueuesView.vue'),
    meta: { title: () => t('jobQueues.title') },
  },
  {
    path: '/job-queues/:jobQueue',
    name: 'job-queue',
    component: () => import('@/views/job-queues/JobQueueView.vue'),
    props: true,
    meta: { title: () => t('jobQueues.one'), under: 'job-queues' },
  },
  { path: '/visitors', name: 'visitors', component: () => import('@/views/visitors/VisitorsView.vue'), meta: { title: () => t('sessions.visitors') } },
  { path: '/tenants', name: 'tenants', component: () => import('@/views/tenants/TenantsView.vue'), meta: { title: () => t('tenants.title') } },
  { path: '/themes', name: 'themes', component: () => import('@/views/themes/ThemesView.vue'), meta: { title: () => t('themes.title') } },
  {
    path: '/themes/:theme',
    name: 'theme',
    component: () => import('@/views/themes/ThemeView.vue'),
    props: true,
    meta: { title: () => t('themes.one'), under: 'themes' },
  },
  {
    path: '/operators',
    name: 'operators',
    component: () => import('@/views/operators/OperatorsView.vue'),
    meta: { title: () => t('operators.title'), needs: 'superuser' },
  },
  { path: '/audit', name: 'audit', component: () => import('@/views/audit/AuditView.vue'), meta: { title: () => t('audit.title') } },
  { path: '/transfer', name: 'transfer', component: () => import('@/views/transfer/TransferView.vue'), meta: { title: () => t('transfer.title') } },
  {
    path: '/tokens',
    name: 'tokens',
    component: () => import('@/views/tokens/TokensView.vue'),
    meta: { title: () => t('tokens.title'), needs: 'operator' },
  },
  { path: '/two-factor', name: 'two-factor', component: () => import('@/views/two-factor/TwoFactorView.vue'), meta: { title: () => t('twoFactor.title') } },
  {
    path: '/sign-in',
    name: 'sign-in',
    component: () => import('@/views/sign-in/SignInView.vue'),
    meta: { title: () => t('signIn.title'), isPublic: true },
  },
  {
    path: '/:rest(.*)*',
    name: 'not-found',
    component: () => import('@/layouts/NotFoundPage.vue'),
    meta: { title: () => t('layout.notFound') },
  },
]

/** Loads the code of all pages, so that they open even while the server is unreachable. */
export async function prefetch(): Promise<void> {
  for (const { component } of routes.flatMap((route) => [route, ...(route.children ?? [])])) await (component as Page)().catch(() => undefined)
}
