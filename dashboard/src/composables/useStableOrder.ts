import { computed, ref, watchEffect, type ComputedRef } from 'vue'

/** A list whose order is frozen during interaction. */
export interface StableOrder<T> {
  items: ComputedRef<T[]>
  /** Listeners for the list: `v-on="on"`. */
  on: Record<string, (event: Event) => void>
}

/**
 * The items in the given order. While the pointer or the focus is in the list, items keep their order and new ones come last,
 * so that nothing moves under the pointer.
 */
export function useStableOrder<T>(source: () => T[], id: (item: T) => string): StableOrder<T> {
  const isHovered = ref(false)
  const isFocused = ref(false)
  let order = new Map<string, number>()

  const items = computed(() => {
    const now = source()
    if (!isHovered.value && !isFocused.value) return now
    const index = (item: T) => order.get(id(item)) ?? Infinity
    return now.toSorted((one, other) => (index(one) === index(other) ? 0 : index(one) - index(other)))
  })
  watchEffect(() => (order = new Map(items.value.map((item, index) => [id(item), index]))))

  const on = {
    pointerenter: (event: Event) => (isHovered.value = (event as PointerEvent).pointerType === 'mouse'),
    pointerleave: () => (isHovered.value = false),
    focusin: () => (isFocused.value = true),
    focusout: (event: Event) => {
      const { relatedTarget, currentTarget } = event as FocusEvent
      isFocused.value = (currentTarget as Element).contains(relatedTarget as Node | null)
    },
  }
  return { items, on }
}
