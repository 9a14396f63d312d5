/** The button of the menu that was used last. */
let menuButton: HTMLElement | undefined

/** Remembers the button of a menu that gets the focus. */
export function rememberMenuButton(event: FocusEvent): void {
  menuButton = event.currentTarget as HTMLElement
}

/** Focuses that button, if it is still there, instead of what the event would focus. */
export function focusMenuButton(event: Event): void {
  if (!menuButton?.isConnected) return
  event.preventDefault()
  menuButton.focus()
}
