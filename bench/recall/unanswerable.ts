import { type EvalTool, toGroups } from '../../src/cli/eval/load-case.ts'
import { CatalogueSearch } from '../../src/search/catalogue-search.ts'
import type { Searcher } from '../../src/search/searcher.ts'

/** Counts the requests for which a searcher finds nothing, or calls its best match weak. */
export async function doubted(
  tools: readonly EvalTool[],
  searcher: Searcher,
  requests: readonly string[],
): Promise<number> {
  const catalogue = new CatalogueSearch(searcher)
  catalogue.sync(toGroups(tools, new Map()))
  let count = 0
  for (const request of requests) {
    const { ranked } = await catalogue.search(request)
    const reasons = ranked[0]?.reasons ?? []
    if (ranked.length === 0 || reasons.some((reason) => reason.startsWith('weak'))) count++
  }
  return count
}
