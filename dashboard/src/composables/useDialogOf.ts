import { computed, type Ref, type WritableComputedRef } from 'vue'

/** Whether the dialog about a subject is open: while there is a subject. Closing the dialog forgets it. */
export function useDialogOf<T>(subject: Ref<T | undefined>): WritableComputedRef<boolean> {
  return computed({ get: () => subject.value !== undefined, set: (open) => !open && (subject.value = undefined) })
}
