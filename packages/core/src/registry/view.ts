import { hashText } from '../json.ts'
import { sourceKey, sourceOfKey } from '../names.ts'
import type { Listing, ToolDefinition, ToolSource } from '../tool.ts'
import { byName, type Entry } from './entry.ts'
import type { ModeDecision } from './mode.ts'
import { denialOf, type PermittedListings, type SourceTools } from './permitted-listings.ts'
import type { CompiledPolicy } from './policy.ts'
import { changesBetween, type Snapshot } from './snapshot.ts'

/** All deferred tools, for a provider that defers them itself. */
export interface DeferredList {
  readonly definitions: readonly ToolDefinition[]
  readonly fingerprint: string
}

/** A snapshot divided by a policy and a mode. What is permitted and not shown is deferred. */
export interface Division {
  readonly snapshot: Snapshot
  readonly isLazy: boolean
  /** Whether there are fewer than `toolThreshold` tools. */
  readonly isFew: boolean
  readonly permitted: PermittedListings
  /** How many tools are permitted. */
  readonly permittedCount: number
  /** Permitted and always shown, sorted by name. */
  readonly shown: readonly Entry[]
  /** Permitted, and shown as long as there are few of them, sorted by name. */
  readonly leftShown: readonly Entry[]
  /** Keys of the sources that have a permitted tool, by label. */
  readonly sources: readonly string[]
  /** MCP servers that have a permitted tool, by name; and those of them without `trust`. */
  readonly servers: readonly string[]
  readonly untrustedServers: readonly string[]
}

/** The parts of a view. */
export interface ViewOptions {
  readonly mode: ModeDecision
  readonly division: Division
  /** Permitted and not deferred, by name. */
  readonly shown: readonly Entry[]
}

/** A snapshot as a session sees it: which tools are shown, deferred and denied. */
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
  readonly #division: Division
  readonly #permitted: PermittedListings
  #deferredList: DeferredList | undefined
  #shownBySource: ReadonlyMap<string, readonly string[]> | undefined
  /** By the names that were shown: a service's sessions showed the same ones. */
  readonly #wider = new Map<string, View>()

  constructor({ mode, division, shown }: ViewOptions) {
    this.snapshot = division.snapshot
    this.mode = mode
    this.policy = division.permitted.policy
    this.shown = shown
    this.deferred = new DeferredEntries(division, shown)
    this.untrustedServers = division.untrustedServers
    this.#division = division
    this.#permitted = division.permitted
  }

  /** True when every registered tool is permitted. */
  get permitsAll(): boolean {
    return this.#division.permittedCount === this.snapshot.size
  }

  /** Computed on first use: only a provider that defers tools itself needs it. */
  get deferredList(): DeferredList {
    this.#deferredList ??= listDeferred(this.#division.sources.map((key) => this.#deferredOf(key)))
    return this.#deferredList
  }

  /** Whether `deferredList` is known to have these very definitions. */
  lists(definitions: readonly ToolDefinition[] | undefined): boolean {
    return definitions !== undefined && this.#deferredList?.definitions === definitions
  }

  /**
   * The names of the tools of each source that changed since an earlier view, before and after. Undefined if any other tool
   * may be divided in another way, apart from those that are shown.
   */
  changedSince(view: View): ReadonlySet<string> | undefined {
    // Divisions that continue each other share what is permitted.
    if (view.#permitted !== this.#permitted) return undefined
    const names = new Set<string>()
    for (const [, before, after] of changesBetween(view.snapshot, this.snapshot))
      for (const { name } of [...before, ...after]) names.add(name)
    return names
  }

  /** Returns the gate that refuses a tool, or undefined if it is permitted. */
  denial(entry: Entry): string | undefined {
    return denialOf(entry, this.snapshot, this.policy)
  }

  /** Whether a listing is permitted; cheap enough to ask for thousands of them. */
  permits(listing: Listing): boolean {
    return this.#permitted.has(listing, this.snapshot)
  }

  /** The MCP servers with a permitted tool, sorted by name: the same list until one joins or leaves. */
  serverNames(): readonly string[] {
    return this.#division.servers
  }

  /** Returns a view of the same tools that also shows those with these names; this view if it already does. */
  showing(names: ReadonlySet<string>, reason: string): View {
    const shown: Entry[] = []
    for (const name of names) {
      const entry = this.snapshot.get(name)
      if (entry !== undefined && this.#permitted.hasEntry(entry, this.snapshot)) shown.push(entry)
    }
    if (shown.length === this.shown.length && this.shown.every(({ name }) => names.has(name))) return this
    return new View({
      mode: { isLazy: true, isAuto: this.mode.isAuto, reason },
      division: this.#division,
      shown: shown.sort(byName),
    })
  }

  /**
   * Returns a view that shows these tools, what is never deferred, and nothing else: what came later is deferred. This view
   * if there is none of them; the same one for the same names, since many sessions share it.
   */
  alsoShowing(names: readonly string[]): View {
    if (names.length === 0) return this
    const key = names.join('\n')
    const known = this.#wider.get(key)
    if (known) return known
    const isThere = names.some((name) => this.snapshot.get(name) !== undefined)
    const all = [...this.#division.shown.map(({ name }) => name), ...names]
    const wider = isThere ? this.showing(new Set(all), this.mode.reason) : this
    this.#wider.set(key, wider)
    return wider
  }

  /** How many sources have deferred tools. */
  get deferredSourceCount(): number {
    const showing = new Set(this.shown.map(({ source }) => sourceKey(source)))
    let count = this.#division.sources.length
    for (const key of showing) if (this.#deferredOf(key).definitions.length === 0) count--
    return count
  }

  /** The sources with deferred tools, by label, each with its tools by name. A generator, since there may be many. */
  *deferredSources(): Generator<SourceTools & { readonly source: ToolSource }> {
    for (const key of this.#division.sources) {
      const tools = this.#deferredOf(key)
      if (tools.definitions.length > 0) yield { source: sourceOfKey(key), ...tools }
    }
  }

  /** Read anew only where the source has changed, or what is shown of it. */
  #deferredOf(key: string): SourceTools {
    const { groups, quarantined } = this.snapshot
    const listings = groups.get(key) ?? []
    const shown = this.#shownNames.get(key)?.join('\n')
    const known = this.#permitted.deferred.get(listings)
    if (known?.shown === shown && known?.quarantined === quarantined) return known.tools
    const entries = listings.flatMap(({ name }) => this.deferred.get(name) ?? []).sort(byName)
    const tools: SourceTools = {
      ownNames: entries.map(({ listing }) => listing.ownName),
      definitions: entries.map(({ definition }) => definition),
      fingerprint: hashText(entries.map(({ fingerprint }) => fingerprint).join(' ')),
    }
    this.#permitted.deferred.set(listings, { shown, quarantined, tools })
    return tools
  }

  /** The names of the tools that are shown, by source. */
  get #shownNames(): ReadonlyMap<string, readonly string[]> {
    if (this.#shownBySource) return this.#shownBySource
    const names = new Map<string, string[]>()
    for (const { name, source } of this.shown) {
      const key = sourceKey(source)
      names.set(key, [...(names.get(key) ?? []), name])
    }
    this.#shownBySource = names
    return names
  }
}

/**
 * The permitted entries that are not shown, by name. Reads the snapshot, since a map of a million entries would take as
 * long to make as everything else that a change of the catalogue costs.
 */
class DeferredEntries implements ReadonlyMap<string, Entry> {
  readonly size: number
  readonly #snapshot: Snapshot
  readonly #permitted: PermittedListings
  readonly #shown: ReadonlySet<string>

  constructor({ snapshot, permitted, permittedCount }: Division, shown: readonly Entry[]) {
    this.#snapshot = snapshot
    this.#permitted = permitted
    this.size = permittedCount - shown.length
    this.#shown = this.size === 0 ? new Set() : new Set(shown.map(({ name }) => name))
  }

  get(name: string): Entry | undefined {
    if (this.size === 0 || this.#shown.has(name)) return undefined
    const entry = this.#snapshot.get(name)
    return entry !== undefined && this.#isPermitted(entry) ? entry : undefined
  }

  has(name: string): boolean {
    return this.get(name) !== undefined
  }

  forEach(visit: (entry: Entry, name: string, map: ReadonlyMap<string, Entry>) => void): void {
    for (const entry of this.values()) visit(entry, entry.name, this)
  }

  *keys(): Generator<string, undefined> {
    for (const { name } of this.values()) yield name
  }

  *values(): Generator<Entry, undefined> {
    if (this.size === 0) return
    for (const entry of this.#snapshot.sorted)
      if (!this.#shown.has(entry.name) && this.#isPermitted(entry)) yield entry
  }

  *entries(): Generator<[string, Entry], undefined> {
    for (const entry of this.values()) yield [entry.name, entry]
  }

  [Symbol.iterator](): Generator<[string, Entry], undefined> {
    return this.entries()
  }

  #isPermitted(entry: Entry): boolean {
    return this.#permitted.hasEntry(entry, this.#snapshot)
  }
}

function listDeferred(sources: readonly SourceTools[]): DeferredList {
  const runs = sources.map(({ definitions }) => definitions).filter(({ length }) => length > 0)
  runs.sort((a, b) => compareNames(a[0], b[0]))
  const definitions = ([] as ToolDefinition[]).concat(...runs)
  // The names of a server have its name in front, so mostly the runs follow each other.
  const isSorted = runs.every((run, at) => at === 0 || compareNames(runs[at - 1]?.at(-1), run[0]) < 0)
  if (!isSorted) definitions.sort(compareNames)
  return {
    definitions: Object.freeze(definitions),
    fingerprint: hashText(sources.map(({ fingerprint }) => fingerprint).join(' ')),
  }
}

function compareNames(a: ToolDefinition | undefined, b: ToolDefinition | undefined): number {
  return (a?.name ?? '') < (b?.name ?? '') ? -1 : 1
}
