import { ref } from 'vue'
import { defineStore } from 'pinia'

/** Time in milliseconds after which a success message disappears. */
const LASTS = 6_000
/** Maximum number of messages. */
const MOST = 4

export interface Notice {
  id: number
  kind: 'done' | 'failed'
  text: string
}

/** Messages about finished actions. Errors stay until they are dismissed. */
export const useNotificationStore = defineStore('notices', () => {
  const notices = ref<Notice[]>([])
  let last = 0

  function add(kind: Notice['kind'], text: string): void {
    const id = ++last
    notices.value = [...notices.value, { id, kind, text }].slice(-MOST)
    if (kind === 'done') setTimeout(() => dismiss(id), LASTS)
  }

  function dismiss(id: number): void {
    notices.value = notices.value.filter((notice) => notice.id !== id)
  }

  return { notices, done: (text: string) => add('done', text), failed: (text: string) => add('failed', text), dismiss }
})
