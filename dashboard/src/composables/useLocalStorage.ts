import { useStorage, type RemovableRef } from '@vueuse/core'

/** A choice that is stored in this browser. Invalid stored values fall back to the default. */
export function useLocalStorage<T extends string | null>(name: string, fallback: T, isValid: (value: string) => boolean): RemovableRef<T> {
  const read = (value: string) => (isValid(value) ? (value as T) : fallback)
  return useStorage<T>(`vestibule.${name}`, fallback, undefined, { writeDefaults: false, serializer: { read, write: String } })
}
