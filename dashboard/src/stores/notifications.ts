import { ref } from 'vue'
import { defineStore } from 'pinia'

/** How long a notice stays, in milliseconds. */
const LASTS = 6_000
/** Most that are shown at once. */
const MOST = 4

export interface Notice {
  id: number
  kind: 'done' | 'failed'
  text: string
}

/** What was done, said for a moment; what failed stays until it is dismissed. */
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
