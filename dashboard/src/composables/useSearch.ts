import { computed, ref, type ComputedRef, type Ref } from 'vue'

/** From so many things on it is worth a search. */
const WORTH_FROM = 10

/** A list that can be narrowed down. */
export interface Search<T> {
  text: Ref<string>
  found: ComputedRef<T[]>
  isWorth: ComputedRef<boolean>
}

/** Finds the items in which every word stands that was typed. */
export function useSearch<T>(items: () => readonly T[], written: (item: T) => string): Search<T> {
  const text = ref('')
  const words = computed(() => text.value.toLowerCase().split(/\s+/).filter(Boolean))
  const fits = (item: T) => {
    const all = written(item).toLowerCase()
    return words.value.every((word) => all.includes(word))
  }
  return { text, found: computed(() => items().filter(fits)), isWorth: computed(() => items().length >= WORTH_FROM) }
}
