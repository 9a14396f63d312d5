import { nextTick, watch, type Ref } from 'vue'

import type { Problem } from '@/api/problem'

/** Moves the focus to the first wrong field of a form once the server has said what is wrong: it may be off screen. */
export function useFirstError(form: Readonly<Ref<HTMLElement | null>>, problem: () => Problem | undefined): void {
  watch(problem, async (found) => {
    if (!found) return
    await nextTick()
    form.value?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  })
}
