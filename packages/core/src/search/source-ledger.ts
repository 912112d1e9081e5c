import { isApproved, sourceName } from '../names.ts'
import type { Listing, ToolSource } from '../tool.ts'

/** Records when each source was first seen and how many tools it has. */
export class SourceLedger {
  /** By kind and name, since a search asks thousands of times: a source key would be made each time. */
  readonly #sources: Readonly<Record<ToolSource['kind'], Map<string, KnownSource>>> = {
    builtin: new Map(),
    plugin: new Map(),
    mcp: new Map(),
    openapi: new Map(),
  }
  #seen = 0
  #approved = 0

  /** Records a source's listings before and after a change. A source that is removed and returns counts as new. */
  record(before: readonly Listing[], after: readonly Listing[]): void {
    for (const { source } of after) this.#count(source, 1)
    for (const { source } of before) this.#count(source, -1)
    const approved = (listings: readonly Listing[]) => listings.filter(isApproved).length
    this.#approved += approved(after) - approved(before)
  }

  /** Whether any listing is from an approved source. */
  get hasApproved(): boolean {
    return this.#approved > 0
  }

  /** The number of sources. */
  get size(): number {
    return Object.values(this.#sources).reduce((sum, { size }) => sum + size, 0)
  }

  toolsOf(source: ToolSource): number {
    return this.#find(source)?.tools ?? 0
  }

  /** Whether a source was seen before another. */
  isSenior(source: ToolSource, other: ToolSource): boolean {
    return this.since(source) < this.since(other)
  }

  /** When a source was first seen: later ones have higher numbers. */
  since(source: ToolSource): number {
    return this.#find(source)?.since ?? Number.POSITIVE_INFINITY
  }

  #find(source: ToolSource): KnownSource | undefined {
    return this.#sources[source.kind].get(sourceName(source))
  }

  #count(source: ToolSource, change: 1 | -1): void {
    const sources = this.#sources[source.kind]
    const name = sourceName(source)
    const known = sources.get(name)
    if (known === undefined) sources.set(name, { since: this.#seen++, tools: change })
    else if (known.tools + change === 0) sources.delete(name)
    else known.tools += change
  }
}

interface KnownSource {
  readonly since: number
  tools: number
}
