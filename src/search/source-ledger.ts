import { type Listing, sourceKey, type ToolSource } from '../tool.ts'

/** Records when each source was first seen and how many tools it has. */
export class SourceLedger {
  readonly #sources = new Map<string, { readonly since: number; tools: number }>()
  #seen = 0

  /** Records a source's listings before and after a change. A source that is removed and returns counts as new. */
  record(before: readonly Listing[], after: readonly Listing[]): void {
    for (const { source } of after) this.#count(sourceKey(source), 1)
    for (const { source } of before) this.#count(sourceKey(source), -1)
  }

  /** The number of sources. */
  get size(): number {
    return this.#sources.size
  }

  toolsOf(source: ToolSource): number {
    return this.#sources.get(sourceKey(source))?.tools ?? 0
  }

  /** Whether a source was seen before another. */
  isSenior(source: ToolSource, other: ToolSource): boolean {
    return this.#since(source) < this.#since(other)
  }

  #since(source: ToolSource): number {
    return this.#sources.get(sourceKey(source))?.since ?? Number.POSITIVE_INFINITY
  }

  #count(key: string, change: 1 | -1): void {
    const known = this.#sources.get(key)
    if (known === undefined) this.#sources.set(key, { since: this.#seen++, tools: change })
    else if (known.tools + change === 0) this.#sources.delete(key)
    else known.tools += change
  }
}
