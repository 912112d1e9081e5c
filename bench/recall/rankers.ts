import MiniSearch, { type Options, type SearchOptions } from 'minisearch'
import { CatalogueSearch } from '../../packages/core/src/search/catalogue-search.ts'
import { parameterTexts } from '../../packages/core/src/search/lexical/listing-terms.ts'
import { STOP_WORDS, stem } from '../../packages/core/src/search/lexical/text-words.ts'
import type { Searcher } from '../../packages/core/src/search/searcher.ts'
import type { Listing } from '../../packages/core/src/tool.ts'
import { type EvalTool, toGroups } from '../../packages/toolcrib/src/eval/load-case.ts'

/** How many matches are evaluated. */
const DEPTH = 10

/** Returns the ids of the best tools for a query, best first. */
export type Ranker = (query: string) => readonly string[] | Promise<readonly string[]>

/** One of our searchers, through the whole search path. */
export function ours(tools: readonly EvalTool[], searcher: Searcher): Ranker {
  const idOf = new Map<Listing, string>()
  const catalogue = new CatalogueSearch(searcher)
  catalogue.sync(toGroups(tools, idOf))
  return async (query) => {
    const { ranked } = await catalogue.search(query, { limit: DEPTH })
    return ranked.map(({ listing }) => idOf.get(listing) ?? '')
  }
}

/** MiniSearch with its defaults. */
export function miniSearch(tools: readonly EvalTool[]): Ranker {
  return indexed(tools, {}, {})
}

/** MiniSearch with the improvements that its manual suggests: stop words, stemming, and field weights. */
export function boostedMiniSearch(tools: readonly EvalTool[]): Ranker {
  const processTerm = (term: string): string | null => {
    const word = term.toLowerCase()
    return STOP_WORDS.has(word) ? null : stem(word)
  }
  return indexed(tools, { processTerm }, { boost: { name: 3, description: 1.5, server: 1.5 } })
}

function indexed(
  tools: readonly EvalTool[],
  options: Partial<Options>,
  searchOptions: SearchOptions,
): Ranker {
  const index = new MiniSearch({
    fields: ['name', 'description', 'parameterNames', 'parameterTexts', 'server'],
    ...options,
  })
  index.addAll(tools.map(toDocument))
  return (query) =>
    index
      .search(query, searchOptions)
      .slice(0, DEPTH)
      .map(({ id }) => String(id))
}

function toDocument({ id, server, name, description, inputSchema }: EvalTool): Record<string, string> {
  const { names, texts } = parameterTexts(inputSchema)
  return {
    id,
    // Its tokenizer does not split camelCase.
    name: name.replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2'),
    description,
    parameterNames: names.join(' '),
    parameterTexts: texts.join(' '),
    server: server ?? '',
  }
}
