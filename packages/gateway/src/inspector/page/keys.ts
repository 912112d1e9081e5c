import { signal } from '@preact/signals'
import { go, place } from './router.ts'
import { VIEWS } from './views.ts'

/** Whether the list of keys is shown. */
export const isHelpOpen = signal(false)

/** Whether one can go to a tool, a server or a view by its name. */
export const isPaletteOpen = signal(false)

/** What the key is called here. */
export const COMMAND_KEY = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘' : 'Ctrl'

/** Command or Control with `k` opens the palette, `/` searches, `?` helps, `g` and a letter goes to a view. */
export function startKeys(): void {
  let isGoing = false
  addEventListener('keydown', (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
      event.preventDefault()
      isPaletteOpen.value = !isPaletteOpen.peek()
      return
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
    if (isGoing) {
      isGoing = false
      const view = VIEWS.find(({ key }) => key === event.key)
      if (view) go(view.path)
      return
    }
    if (event.key === 'g') isGoing = true
    else if (event.key === '?') isHelpOpen.value = true
    else if (event.key === '/') {
      event.preventDefault()
      focusSearch()
    }
  })
}

/** The search field of this view; the search view where it has none. */
function focusSearch(): void {
  const field = document.querySelector<HTMLInputElement>('main input[type="search"]')
  if (field) field.focus()
  else if (place.peek().view !== 'search') go('search')
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName)
}
