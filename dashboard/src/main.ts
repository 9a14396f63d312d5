import './styles/tokens.css'
import './styles/base.css'

import { createPinia } from 'pinia'
import { createApp } from 'vue'

import App from './App.vue'
import { i18n, loadLocale } from './i18n'
import { router } from './router'
import { VueQueryPlugin } from '@tanstack/vue-query'
import { observeRequests } from './api/client'
import { queryClient } from './api/queries'
import { CODES, type Problem } from './api/problem'
import { useConnectionStore } from './stores/connection'
import { usePreferencesStore } from './stores/preferences'
import { usePrincipalStore } from './stores/principal'

const app = createApp(App).use(createPinia())

usePreferencesStore()
const connection = useConnectionStore()

function answered(problem?: Problem): void {
  connection.answered(problem)
  const principal = usePrincipalStore()
  if (problem?.code === CODES.totpSetupRequired && !principal.mustSetUpTotp) void principal.refresh().catch(() => undefined)
}

observeRequests({ answered, failed: connection.failed, expired: () => usePrincipalStore().expired() })

await loadLocale()
app.use(i18n).use(VueQueryPlugin, { queryClient }).use(router).mount('#app')
