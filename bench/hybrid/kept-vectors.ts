import { CatalogueSearch } from '../../packages/core/src/search/catalogue-search.ts'
import { semantic } from '../../packages/core/src/search/semantic.ts'
import type { Embedder } from '../../packages/core/src/search/vectors/embedder.ts'
import { staticEmbedder } from '../../packages/embedder/src/static-embedder.ts'
import type { EvalTool } from '../../packages/toolcrib/src/eval/load-case.ts'
import { toGroups } from '../../packages/toolcrib/src/eval/load-case.ts'

/** What vectors cost at startup, in milliseconds, and how many texts were embedded the second time. */
export interface KeptVectorsFigures {
  readonly embeddedMs: number
  readonly importedMs: number
  readonly bytes: number
  readonly embeddedAgain: number
}

/** Starts twice on the same tools: first embedding them, then with the stored vectors. */
export async function measureKeptVectors(tools: readonly EvalTool[]): Promise<KeptVectorsFigures> {
  const groups = toGroups(tools, new Map())
  let embedded = 0
  const table = staticEmbedder()
  const embedder: Embedder = {
    name: table.name,
    dimensions: table.dimensions,
    embed: (texts) => {
      embedded += texts.length
      return table.embed(texts)
    },
  }
  await table.embed(['reads the table'])
  const start = async (bytes?: Uint8Array) => {
    const searcher = semantic({ embedder })
    const startedAt = performance.now()
    if (bytes) searcher.importVectors(bytes)
    const catalogue = new CatalogueSearch(searcher)
    catalogue.sync(groups)
    await catalogue.search('query')
    return { ms: performance.now() - startedAt, bytes: searcher.exportVectors() }
  }
  const first = await start()
  embedded = 0
  const second = await start(first.bytes)
  const queries = 1
  return {
    embeddedMs: first.ms,
    importedMs: second.ms,
    bytes: first.bytes.length,
    embeddedAgain: embedded - queries,
  }
}
