import type { CallScope, CallTarget } from '../call/call-scope.ts'
import type { Spill } from '../call/spill.ts'
import { readResult } from '../meta-tools/read-result.ts'
import { metaToolEntry } from '../meta-tools/session-meta-tools.ts'
import { sourceOfKey } from '../names.ts'
import type { Catalogue } from '../registry/catalogue.ts'
import type { Entry } from '../registry/entry.ts'
import { denialOf } from '../registry/permitted-listings.ts'
import type { CompiledPolicy } from '../registry/policy.ts'
import { missingServersOf, PermittedServers, type ServerStatus } from '../registry/server-directory.ts'
import { acceptEvery } from '../search/searcher.ts'
import type { Audience, ToolFinder } from '../search/tool-finder.ts'
import type { Listing, Tool, ToolCall } from '../tool.ts'

/** Calls and searches without a session: every tool the policy permits, by its registered name. */
export class CatalogueScope implements CallScope, Audience {
  readonly searchToolName = undefined
  readonly #catalogue: Catalogue
  readonly #finder: ToolFinder
  readonly #policy: CompiledPolicy
  /** `read_result`, when there is a spill to read. */
  readonly #reader: Entry | undefined

  constructor(
    { catalogue, finder }: { readonly catalogue: Catalogue; readonly finder: ToolFinder },
    policy: CompiledPolicy,
    spilled?: { readonly spill: Spill; readonly sessionId: string },
  ) {
    this.#catalogue = catalogue
    this.#finder = finder
    this.#policy = policy
    this.#reader = spilled && metaToolEntry(readResult(spilled) as Tool)
  }

  get canReadResults(): boolean {
    return this.#reader !== undefined && this.#policy.denialOfMetaTool('read_result') === undefined
  }

  resolve({ name, args }: ToolCall, { hidesDenied = false } = {}): CallTarget | undefined {
    const entry = this.#catalogue.get(name) ?? (name === 'read_result' ? this.#reader : undefined)
    const target = entry && { entry, args }
    return hidesDenied && target && this.denial(target) !== undefined ? undefined : target
  }

  denial({ entry }: CallTarget): string | undefined {
    if (entry === this.#reader) return this.#policy.denialOfMetaTool(entry.name)
    return denialOf(entry, this.#catalogue.snapshot(), this.#policy)
  }

  asks({ entry }: CallTarget): boolean {
    return entry !== this.#reader && this.#policy.asks(entry)
  }

  isGone(): boolean {
    return false
  }

  missingServers(name: string): readonly ServerStatus[] {
    const { servers } = this.#finder
    if (servers === undefined) return []
    const permitted = new PermittedServers(servers, this.#policy).statuses()
    const sources = [...this.#catalogue.snapshot().groups.keys()].map(sourceOfKey)
    const hasTools = sources.some((source) => source.kind === 'mcp' && this.permitsServer(source.server))
    return missingServersOf(name, permitted, hasTools)
  }

  suggest(name: string): readonly string[] {
    const snapshot = this.#catalogue.snapshot()
    return this.#finder.suggest(name, (entry) => denialOf(entry, snapshot, this.#policy) === undefined)
  }

  needsSchema(): boolean {
    return false
  }

  /** The host's code makes these calls, and knows the schema. */
  isUnseen(): boolean {
    return false
  }

  noteSchemas(): void {}

  noteUses(): void {}

  untrustedServers({ entry }: CallTarget): readonly string[] {
    return entry.untrustedServer === undefined ? [] : [entry.untrustedServer]
  }

  permitsServer(server: string): boolean {
    return this.#policy.permitsServer(server)
  }

  /** Reads the newest catalogue: servers may have connected while the search waited for them. */
  accepter(): (listing: Listing) => boolean {
    const snapshot = this.#catalogue.snapshot()
    if (this.#policy.isOpen && snapshot.quarantined.size === 0) return acceptEvery
    return ({ name }) => {
      const entry = snapshot.get(name)
      return entry !== undefined && denialOf(entry, snapshot, this.#policy) === undefined
    }
  }
}
