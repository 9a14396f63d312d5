import { computed, ref, type ComputedRef, type Ref } from 'vue'

/** Number of items from which a search is offered. */
const WORTH_FROM = 10

/** A searchable list. */
export interface Search<T> {
  text: Ref<string>
  found: ComputedRef<T[]>
  isWorth: ComputedRef<boolean>
}

/** Finds the items that contain every typed word. */
export function useSearch<T>(items: () => readonly T[], written: (item: T) => string): Search<T> {
  const text = ref('')
  const words = computed(() => text.value.toLowerCase().split(/\s+/).filter(Boolean))
  const fits = (item: T) => {
    const all = written(item).toLowerCase()
    return words.value.every((word) => all.includes(word))
  }
  return { text, found: computed(() => items().filter(fits)), isWorth: computed(() => items().length >= WORTH_FROM) }
}
