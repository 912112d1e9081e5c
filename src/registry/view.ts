import { hashText } from '../json.ts'
import type { Listing, ToolDefinition } from '../tool.ts'
import type { Availability } from './availability.ts'
import type { Snapshot } from './catalogue.ts'
import type { Entry } from './entry.ts'
import type { ModeDecision } from './mode.ts'
import type { CompiledPolicy } from './policy.ts'

/** All that is deferred, as a provider that defers by itself receives it. */
export interface DeferredList {
  readonly definitions: readonly ToolDefinition[]
  readonly fingerprint: string
}

/** A snapshot as a session sees it: what is shown, what waits behind the search, what is not permitted. */
export class View {
  readonly snapshot: Snapshot
  readonly mode: ModeDecision
  readonly policy: CompiledPolicy
  /** Permitted and not deferred, by name. */
  readonly shown: readonly Entry[]
  /** Permitted and deferred, by name; activated ones included. */
  readonly deferred: ReadonlyMap<string, Entry>
  /** Servers without `trust` that have a permitted tool, shown or deferred, by name. */
  readonly untrustedServers: readonly string[]
  readonly #permitted: ReadonlySet<Listing>
  #deferredList: DeferredList | undefined

  constructor(
    snapshot: Snapshot,
    mode: ModeDecision,
    policy: CompiledPolicy,
    { shown, deferred }: { readonly shown: readonly Entry[]; readonly deferred: readonly Entry[] },
  ) {
    this.snapshot = snapshot
    this.mode = mode
    this.policy = policy
    this.shown = shown
    this.deferred = new Map(deferred.map((entry) => [entry.name, entry]))
    const permitted = [...shown, ...deferred]
    this.#permitted = new Set(permitted.map(({ listing }) => listing))
    const untrusted = new Set(permitted.flatMap(({ untrustedServer }) => untrustedServer ?? []))
    this.untrustedServers = Object.freeze([...untrusted].sort())
  }

  /** True when every registered tool is permitted. */
  get permitsAll(): boolean {
    return this.#permitted.size === this.snapshot.size
  }

  /** Computed on first use: only a provider that defers by itself needs it. */
  get deferredList(): DeferredList {
    this.#deferredList ??= listDeferred([...this.deferred.values()])
    return this.#deferredList
  }

  /** Returns the gate that refuses a tool, or undefined when it is permitted. */
  denial(entry: Entry): string | undefined {
    return denialOf(entry, this.snapshot, this.policy)
  }

  /** Whether a listing is permitted; cheap enough to ask for thousands of them. */
  permits(listing: Listing): boolean {
    return this.#permitted.has(listing)
  }

  /** The MCP servers with a permitted tool, by name. */
  serverNames(): readonly string[] {
    const servers = new Set<string>()
    for (const { source } of this.#permitted) if (source.kind === 'mcp') servers.add(source.server)
    return [...servers].sort()
  }
}

/** Returns the gate that refuses a tool: quarantine first, then the policy. */
export function denialOf(entry: Entry, snapshot: Snapshot, policy: CompiledPolicy): string | undefined {
  const quarantine = snapshot.quarantined.get(entry.name)
  return quarantine === undefined ? policy.denial(entry) : `quarantine (${quarantine})`
}

/** Returns the definitions of every permitted and available tool, by name. */
export function definitionsOf(
  snapshot: Snapshot,
  policy: CompiledPolicy,
  availability: Availability,
): ToolDefinition[] {
  const permitted = snapshot.sorted.filter((entry) => denialOf(entry, snapshot, policy) === undefined)
  return permitted.filter(({ tool }) => availability.isAvailable(tool)).map(({ definition }) => definition)
}

function listDeferred(entries: readonly Entry[]): DeferredList {
  return {
    definitions: Object.freeze(entries.map(({ definition }) => definition)),
    fingerprint: hashText(entries.map(({ fingerprint }) => fingerprint).join(' ')),
  }
}
