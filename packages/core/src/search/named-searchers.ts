import { loadedLater, patternSearcher } from './loaded-index.ts'
import type { Searcher } from './searcher.ts'

/** The searchers available by name. Those with an embedder are passed as objects. */
export const SEARCHERS = {
  lexical: () => loadedLater({ name: 'lexical' }, async () => (await import('./lexical.ts')).lexical()),
  weighted: () =>
    loadedLater({ name: 'weighted', order: 'fixed' }, async () => (await import('./weighted.ts')).weighted()),
  regex: patternSearcher,
} satisfies Record<string, () => Searcher>

/** The searchers that `searcher` takes by name. */
export type SearcherName = keyof typeof SEARCHERS

/** Searchers that are passed as objects. */
export const NEEDS_EMBEDDER: readonly string[] = ['semantic', 'hybrid']
