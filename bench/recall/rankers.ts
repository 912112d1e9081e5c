import MiniSearch, { type Options, type SearchOptions } from 'minisearch'
import { type EvalTool, toGroups } from '../../src/cli/eval/load-case.ts'
import { CatalogueSearch } from '../../src/search/catalogue-search.ts'
import { parameterTexts } from '../../src/search/lexical/parameter-texts.ts'
import { stem } from '../../src/search/lexical/stem.ts'
import { STOP_WORDS } from '../../src/search/lexical/stop-words.ts'
import type { Searcher } from '../../src/search/searcher.ts'
import type { Listing } from '../../src/tool.ts'

/** How far down a ranking is looked at. */
const DEPTH = 10

/** Gives the ids of the best tools for a query, best first. */
export type Ranker = (query: string) => readonly string[] | Promise<readonly string[]>

/** One of our searchers, behind the whole path that a search takes. */
export function ours(tools: readonly EvalTool[], searcher: Searcher): Ranker {
  const idOf = new Map<Listing, string>()
  const catalogue = new CatalogueSearch(searcher)
  catalogue.sync(toGroups(tools, idOf))
  return async (query) => {
    const { ranked } = await catalogue.search(query, { limit: DEPTH })
    return ranked.map(({ listing }) => idOf.get(listing) ?? '')
  }
}

/** MiniSearch as it comes. */
export function miniSearch(tools: readonly EvalTool[]): Ranker {
  return indexed(tools, {}, {})
}

/** MiniSearch with what its manual offers to do better: stop words, stemming, and weights of fields. */
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
    // Its tokenizer does not part camelCase.
    name: name.replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2'),
    description,
    parameterNames: names.join(' '),
    parameterTexts: texts.join(' '),
    server: server ?? '',
  }
}
