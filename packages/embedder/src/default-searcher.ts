import { hybrid, type Searcher } from '@toolcrib/core'
import { staticEmbedder } from './static-embedder.ts'

/**
 * `hybrid` with `staticEmbedder()`: what a registry searches with by default where this package is installed. Throws
 * `config-invalid` where the model's file cannot be read, as in a browser.
 *
 * @example
 * ```ts
 * import { ToolRegistry } from 'toolcrib'
 * import { defaultSearcher } from 'toolcrib/embedders'
 *
 * // The same as new ToolRegistry(), but an error instead of a search by words alone if the file is missing.
 * const registry = new ToolRegistry({ searcher: defaultSearcher() })
 * console.log(registry.searcher.name) // hybrid
 * ```
 */
export function defaultSearcher(): Searcher {
  const embedder = staticEmbedder()
  // Reads the file.
  embedder.embed(['tool'])
  return hybrid({ embedder })
}
