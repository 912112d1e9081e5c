import { computed, signal } from '@preact/signals'

/** Where in the page we are: `#/tools?source=files`, `#/tools/mcp__files__read`. */
export interface Place {
  readonly view: string
  /** What comes after the view, such as the name of a tool. */
  readonly rest: string
  /** What narrows the view, such as a filter. */
  readonly query: Query
}

type Query = Readonly<Record<string, string>>

const hash = signal(location.hash)
addEventListener('hashchange', () => {
  hash.value = location.hash
})

export const place = computed<Place>(() => {
  const [path = '', query = ''] = hash.value.replace(/^#\/?/, '').split('?', 2)
  const [view = '', ...rest] = path.split('/')
  return { view, rest: decode(rest.join('/')), query: Object.fromEntries(new URLSearchParams(query)) }
})

/** The address of a view. Empty values of a query are left out. */
export function linkTo(view: string, rest = '', query: Query = {}): string {
  const given = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ''))
  const path = rest === '' ? view : `${view}/${encodeURIComponent(rest)}`
  return given.size === 0 ? `#/${path}` : `#/${path}?${given}`
}

export function go(view: string, rest?: string): void {
  location.hash = linkTo(view, rest)
}

/** Stores what was typed or chosen in the address, without a new entry in the history. */
export function note(view: string, rest: string, query?: Query): void {
  history.replaceState(history.state, '', linkTo(view, rest, query))
  hash.value = location.hash
}

/** Text that is not encoded stays as it is. */
export function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
