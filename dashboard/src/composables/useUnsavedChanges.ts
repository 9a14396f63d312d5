import { onScopeDispose } from 'vue'
import { onBeforeRouteLeave, onBeforeRouteUpdate } from 'vue-router'

import { t } from '@/i18n'
import { useConfirmationStore } from '@/stores/confirmation'
import { usePrincipalStore } from '@/stores/principal'

import type { ThemeDraft } from '@/views/themes/draft'

/** Asks before changes are left behind. */
export function useUnsavedChanges(work: ThemeDraft): void {
  const confirmation = useConfirmationStore()
  const principal = usePrincipalStore()

  function mayLeave(): boolean | Promise<boolean> {
    // Whose sign-in ended has nobody to answer to.
    if (!work.isChanged.value || !principal.account) return true
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
