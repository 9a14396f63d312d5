import { resetQueue } from '@/api/queues'
import type { QueueSettings } from '@/api/types'
import { useAction, type Action } from '@/composables/useAction'
import { t } from '@/i18n'
import { useConfirmationStore } from '@/stores/confirmation'
import { useNotificationStore } from '@/stores/notifications'

/** Resets the line of a queue after a confirmation. `changed` receives the settings with the next epoch. */
export function useReset(queue: () => string, changed: (settings: QueueSettings) => Promise<void>): Action<[]> {
  return useAction(async () => {
    const done = await useConfirmationStore().confirmed((token) => resetQueue(queue(), token), {
      title: t('queue.resetTitle', { name: queue() }),
      body: t('queue.resetBody'),
      action: t('queue.reset'),
      isDangerous: true,
      typed: queue(),
    })
    if (!done) return
    await changed(done.answer)
    useNotificationStore().done(t('queue.resetDone'))
  }, true)
}
