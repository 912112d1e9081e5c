import { computed, signal } from '@preact/signals'

/** Where in the page we are: `#/tools/mcp__files__read?sort=tokens`. */
export interface Place {
  readonly view: string
  /** What comes after the view, such as the name of a tool. */
  readonly rest: string
}

const hash = signal(location.hash)
addEventListener('hashchange', () => {
  hash.value = location.hash
})

export const place = computed<Place>(() => {
  const [view = '', ...rest] = hash.value.replace(/^#\/?/, '').split('/')
  return { view, rest: decode(rest.join('/')) }
})

/** The address of a view. */
export function linkTo(view: string, rest?: string): string {
  return rest === undefined ? `#/${view}` : `#/${view}/${encodeURIComponent(rest)}`
}

export function go(view: string, rest?: string): void {
  location.hash = linkTo(view, rest)
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
