import { lexical } from './lexical.ts'
import { regex } from './regex.ts'
import type { Searcher } from './searcher.ts'
import { weighted } from './weighted.ts'

/** The searchers available by name, the default first. Those with an embedder are passed as objects. */
export const SEARCHERS = { lexical, weighted, regex } satisfies Record<string, () => Searcher>

/** The searchers that `searcher` takes by name. */
export type SearcherName = keyof typeof SEARCHERS
