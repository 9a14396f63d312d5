import { onScopeDispose } from 'vue'
import { onBeforeRouteLeave, onBeforeRouteUpdate } from 'vue-router'

import { useConfirmation } from '@/stores/confirmation'
import { useSession } from '@/stores/session'

import { useThemeTexts } from './texts'
import type { Work } from './work'

/** Asks before changes are left behind. */
export function useLeaving(work: Work): void {
  const t = useThemeTexts()
  const confirmation = useConfirmation()
  const session = useSession()

  function mayLeave(): boolean | Promise<boolean> {
    // Whose sign-in ended has nobody to answer to.
    if (!work.isChanged.value || !session.account) return true
    return confirmation.ask({ title: t.value.unsavedTitle, body: t.value.unsavedBody, action: t.value.leave, isDangerous: true })
  }

  function unload(event: BeforeUnloadEvent): void {
    if (work.isChanged.value) event.preventDefault()
  }

  onBeforeRouteLeave(mayLeave)
  onBeforeRouteUpdate(mayLeave)
  addEventListener('beforeunload', unload)
  onScopeDispose(() => removeEventListener('beforeunload', unload))
}
