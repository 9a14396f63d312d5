import { computed, ref, watchEffect, type ComputedRef } from 'vue'

/** A list whose order is frozen during interaction. */
export interface StableOrder<T> {
  items: ComputedRef<T[]>
  /** Listeners for the list: `v-on="on"`. */
  on: Record<string, (event: Event) => void>
}

/**
 * The items in the order in which they are given; but while the pointer or the focus is within the list, those in it keep
 * their places and new ones come last, so that nothing is pressed that was somewhere else a moment ago.
 */
export function useStableOrder<T>(given: () => T[], id: (item: T) => string): StableOrder<T> {
  const isPointed = ref(false)
  const isFocused = ref(false)
  let order = new Map<string, number>()

  const items = computed(() => {
    const now = given()
    if (!isPointed.value && !isFocused.value) return now
    const place = (item: T) => order.get(id(item)) ?? Infinity
    return now.toSorted((one, other) => (place(one) === place(other) ? 0 : place(one) - place(other)))
  })
  watchEffect(() => (order = new Map(items.value.map((item, index) => [id(item), index]))))

  const on = {
    pointerenter: (event: Event) => (isPointed.value = (event as PointerEvent).pointerType === 'mouse'),
    pointerleave: () => (isPointed.value = false),
    focusin: () => (isFocused.value = true),
    focusout: (event: Event) => {
      const { relatedTarget, currentTarget } = event as FocusEvent
      isFocused.value = (currentTarget as Element).contains(relatedTarget as Node | null)
    },
  }
  return { items, on }
}
