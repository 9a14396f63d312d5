import { useEventListener } from '@vueuse/core'
import { onBeforeRouteLeave, onBeforeRouteUpdate } from 'vue-router'

import { useConfirmationStore } from '@/stores/confirmation'
import { usePrincipalStore } from '@/stores/principal'

/** Asks for confirmation before a page with unsaved changes is left. */
export function useUnsavedChanges(isChanged: () => boolean, texts: () => { title: string; body: string; action: string }): void {
  const confirmation = useConfirmationStore()
  const principal = usePrincipalStore()

  function mayLeave(): boolean | Promise<boolean> {
    // After the sign-in has expired, the operator cannot be asked.
    if (!isChanged() || !principal.account) return true
    return confirmation.ask({ ...texts(), isDangerous: true })
  }

  onBeforeRouteLeave(mayLeave)
  onBeforeRouteUpdate(mayLeave)
  useEventListener('beforeunload', (event) => isChanged() && event.preventDefault())
}
