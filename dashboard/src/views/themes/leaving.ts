import { onScopeDispose } from 'vue'
import { onBeforeRouteLeave, onBeforeRouteUpdate } from 'vue-router'

import { t } from '@/i18n'
import { useConfirmation } from '@/stores/confirmation'
import { useSession } from '@/stores/session'

import type { Work } from './work'

/** Asks before changes are left behind. */
export function useLeaving(work: Work): void {
    const confirmation = useConfirmation()
  const session = useSession()

  function mayLeave(): boolean | Promise<boolean> {
    // Whose sign-in ended has nobody to answer to.
    if (!work.isChanged.value || !session.account) return true
    return confirmation.ask({ title: t('themes.unsavedTitle'), body: t('themes.unsavedBody'), action: t('themes.leave'), isDangerous: true })
  }

  function unload(event: BeforeUnloadEvent): void {
    if (work.isChanged.value) event.preventDefault()
  }

  onBeforeRouteLeave(mayLeave)
  onBeforeRouteUpdate(mayLeave)
  addEventListener('beforeunload', unload)
  onScopeDispose(() => removeEventListener('beforeunload', unload))
}
