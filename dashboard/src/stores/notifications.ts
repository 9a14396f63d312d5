import { ref } from 'vue'
import { defineStore } from 'pinia'

/** Time in milliseconds after which a success message disappears. */
const DISMISS_AFTER = 6_000
/** Maximum number of messages. */
const MAX_SHOWN = 4

export interface Notification {
  id: number
  kind: 'done' | 'failed'
  text: string
}

/** Messages about finished actions. Errors stay until they are dismissed. */
export const useNotificationStore = defineStore('notifications', () => {
  const notifications = ref<Notification[]>([])
  let last = 0

  function add(kind: Notification['kind'], text: string): void {
    const id = ++last
    notifications.value = [...notifications.value, { id, kind, text }].slice(-MAX_SHOWN)
    if (kind === 'done') setTimeout(() => dismiss(id), DISMISS_AFTER)
  }

  function dismiss(id: number): void {
    notifications.value = notifications.value.filter((notification) => notification.id !== id)
  }

  return { notifications, done: (text: string) => add('done', text), failed: (text: string) => add('failed', text), dismiss }
})
