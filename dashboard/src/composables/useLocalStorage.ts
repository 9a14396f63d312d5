import { ref, watch, type Ref } from 'vue'

/** A choice that this browser keeps. Where it keeps nothing, the choice lasts as long as the page. */
export function useLocalStorage<T extends string | null>(name: string, otherwise: T, isOne: (value: string) => boolean): Ref<T> {
  const key = `vestibule.${name}`
  const before = read(key)
  const choice = ref(before !== null && isOne(before) ? before : otherwise) as Ref<T>
  watch(choice, (value) => write(key, value))
  return choice
}

function read(key: string): string | null {
  try {
    return localStorage.getItem(key)
  } catch {
    return null
  }
}

function write(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(key)
    else localStorage.setItem(key, value)
  } catch {
    // A browser that keeps nothing.
  }
}
