import { onScopeDispose } from 'vue'

/** Saves with the keys that everything else is saved with. */
export function useSaveShortcut(save: () => void): void {
  function press(event: KeyboardEvent): void {
    if (event.key !== 's' || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    save()
  }
  addEventListener('keydown', press)
  onScopeDispose(() => removeEventListener('keydown', press))
}
