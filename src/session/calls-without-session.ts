import type { CallScope, CallTarget } from '../call/call-scope.ts'
import { readResult } from '../meta-tools/read-result.ts'
import { metaToolEntry } from '../meta-tools/session-meta-tools.ts'
import { sourceOfKey } from '../names.ts'
import type { Catalogue } from '../registry/catalogue.ts'
import type { Entry } from '../registry/entry.ts'
import type { CompiledPolicy } from '../registry/policy.ts'
import { missingServersOf, PermittedServers, type ServerStatus } from '../registry/server-directory.ts'
import type { Snapshot } from '../registry/snapshot.ts'
import { denialOf } from '../registry/view.ts'
import type { SearchOptions, SearchResult } from '../search/search-result.ts'
import { acceptEvery } from '../search/searcher.ts'
import type { Audience } from '../search/tool-finder.ts'
import type { Listing, Tool, ToolCall } from '../tool.ts'
import { memoryOf } from './session-search.ts'
import type { SessionServices } from './session-services.ts'
import type { SessionSettings } from './settings.ts'

export interface CallsWithoutSessionOptions {
  readonly services: SessionServices
  readonly policy: CompiledPolicy
  readonly sessionId: string
}

/** The scope of `registry.executeParallel()`: every tool the policy permits, by its registered name. */
export class CallsWithoutSession implements CallScope {
  readonly searchToolName = undefined
  readonly #options: CallsWithoutSessionOptions
  readonly #snapshot: Snapshot
  /** `read_result`, when there is a spill to read. */
  readonly #reader: Entry | undefined

  constructor(options: CallsWithoutSessionOptions) {
    const { services, sessionId } = options
    const { spill } = services
    this.#options = options
    this.#snapshot = services.scene.catalogue.snapshot()
    this.#reader = spill && metaToolEntry(readResult({ spill, sessionId }) as Tool)
  }

  get canReadResults(): boolean {
    return this.#reader !== undefined && this.#options.policy.denialOfMetaTool('read_result') === undefined
  }

  resolve({ name, args }: ToolCall): CallTarget | undefined {
    const entry = this.#snapshot.get(name) ?? (name === 'read_result' ? this.#reader : undefined)
    return entry && { entry, args }
  }

  denial({ entry }: CallTarget): string | undefined {
    const { policy } = this.#options
    if (entry === this.#reader) return policy.denialOfMetaTool(entry.name)
    return denialOf(entry, this.#snapshot, policy)
  }

  isGone(): boolean {
    return false
  }

  missingServers(name: string): readonly ServerStatus[] {
    const { services, policy } = this.#options
    const { servers } = services.finder
    if (servers === undefined) return []
    const permitted = new PermittedServers(servers, policy).statuses()
    const sources = [...this.#snapshot.groups.keys()].map(sourceOfKey)
    const hasTools = sources.some((source) => source.kind === 'mcp' && policy.permitsServer(source.server))
    return missingServersOf(name, permitted, hasTools)
  }

  suggest(name: string): readonly string[] {
    const { services, policy } = this.#options
    return services.finder.suggest(name, (entry) => denialOf(entry, this.#snapshot, policy) === undefined)
  }

  needsSchema(): boolean {
    return false
  }

  noteUses(): void {}

  untrustedServers({ entry }: CallTarget): readonly string[] {
    return entry.untrustedServer === undefined ? [] : [entry.untrustedServer]
  }
}

/** `registry.search()`: finds what the policy permits, without a session. */
export async function searchWithoutSession(
  options: SearchOptions & { readonly query: string },
  { finder, scene }: SessionServices,
  settings: SessionSettings,
  policy: CompiledPolicy,
): Promise<SearchResult> {
  const { result } = await finder.find({
    ...options,
    searcher: settings.searcher,
    audience: new PolicyAudience(scene.catalogue, policy),
    memory: memoryOf(settings),
  })
  return result
}

class PolicyAudience implements Audience {
  readonly #catalogue: Catalogue
  readonly #policy: CompiledPolicy

  constructor(catalogue: Catalogue, policy: CompiledPolicy) {
    this.#catalogue = catalogue
    this.#policy = policy
  }

  permitsServer(server: string): boolean {
    return this.#policy.permitsServer(server)
  }

  accepter(): (listing: Listing) => boolean {
    const snapshot = this.#catalogue.snapshot()
    if (this.#policy.isOpen && snapshot.quarantined.size === 0) return acceptEvery
    return ({ name }) => {
      const entry = snapshot.get(name)
      return entry !== undefined && denialOf(entry, snapshot, this.#policy) === undefined
    }
  }
}
