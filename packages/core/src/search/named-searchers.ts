import { LoadedIndex } from './loaded-index.ts'
import type { Searcher } from './searcher.ts'

/** The searchers available by name. Those with an embedder are passed as objects. */
export const SEARCHERS = {
  lexical: () => loadedLater({ name: 'lexical' }, async () => (await import('./lexical.ts')).lexical()),
  weighted: () =>
    loadedLater({ name: 'weighted', order: 'fixed' }, async () => (await import('./weighted.ts')).weighted()),
  regex: () =>
    loadedLater({ name: 'regex', reads: 'pattern', order: 'fixed' }, async () =>
      (await import('./regex.ts')).regex(),
    ),
} satisfies Record<string, () => Searcher>

/** The searchers that `searcher` takes by name. */
export type SearcherName = keyof typeof SEARCHERS

/** A searcher that is loaded by its first search: a bundle for a browser can load it then. */
function loadedLater(
  { name, reads = 'words', order = 'fit' }: Pick<Searcher, 'name' | 'reads' | 'order'>,
  load: () => Promise<Searcher>,
): Searcher {
  return { name, reads, order, open: () => new LoadedIndex(load) }
}

/** Searchers that are passed as objects. */
export const NEEDS_EMBEDDER: readonly string[] = ['semantic', 'hybrid']
