import { nextTick, watch, type Ref } from 'vue'

import type { Problem } from '@/api/problem'

/** Focuses the first invalid field of a form, which may be off screen. */
export function useFirstError(form: Readonly<Ref<HTMLElement | null>>, problem: () => Problem | undefined): void {
  watch(problem, async (found) => {
    if (!found) return
    await nextTick()
    form.value?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  })
}
