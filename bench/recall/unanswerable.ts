import { CatalogueSearch } from '../../packages/core/src/search/catalogue-search.ts'
import { isPoor } from '../../packages/core/src/search/search-result.ts'
import type { Searcher } from '../../packages/core/src/search/searcher.ts'
import { type EvalTool, toGroups } from '../../packages/toolcrib/src/eval/load-case.ts'

/** Counts the requests for which a searcher finds nothing, or says that no tool fits well. */
export async function doubted(
  tools: readonly EvalTool[],
  searcher: Searcher,
  requests: readonly string[],
): Promise<number> {
  const catalogue = new CatalogueSearch(searcher)
  catalogue.sync(toGroups(tools, new Map()))
  let count = 0
  for (const request of requests) {
    const { ranked, ...found } = await catalogue.search(request)
    if (ranked.length === 0 || isPoor({ ...found, matches: ranked })) count++
  }
  return count
}
