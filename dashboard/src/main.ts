import './styles/tokens.css'
import './styles/base.css'

import { createPinia } from 'pinia'
import { createApp } from 'vue'

import App from './App.vue'
import { i18n, loadLocale } from './i18n'
import { router } from './router'
import { watch } from './services/http'
import type { Problem } from './services/problem'
import { useConnection } from './stores/connection'
import { usePreferences } from './stores/preferences'
import { useSession } from './stores/session'

const app = createApp(App).use(createPinia())

usePreferences()
const connection = useConnection()

function answered(problem?: Problem): void {
  connection.answered(problem)
  const session = useSession()
  if (problem?.code === 'totp_setup_required' && !session.mustSetUpTotp) void session.refresh().catch(() => undefined)
}

watch({ answered, failed: connection.failed, expired: () => useSession().expired() })

await loadLocale()
app.use(i18n).use(router).mount('#app')
