import { describeError } from '../errors.ts'
import type { Emit } from '../events.ts'
import { hashText } from '../json.ts'
import { sourceKey, sourceOfKey } from '../names.ts'
import type { Listing, Tool, ToolDefinition, ToolSource } from '../tool.ts'
import { byName, type Entry } from './entry.ts'
import type { ModeDecision } from './mode.ts'
import type { CompiledPolicy } from './policy.ts'
import type { Snapshot } from './snapshot.ts'

/** All deferred tools, for a provider that defers them itself. */
export interface DeferredList {
  readonly definitions: readonly ToolDefinition[]
  readonly fingerprint: string
}

/** A snapshot divided by a policy and a mode. What is permitted and not shown is deferred. */
export interface Division {
  readonly snapshot: Snapshot
  readonly isLazy: boolean
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
    this.#deferredList ??= listDeferred([...this.deferred.values()])
    return this.#deferredList
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

  /** How many sources have deferred tools. */
  get deferredSourceCount(): number {
    const showing = new Set(this.shown.map(({ source }) => sourceKey(source)))
    let count = this.#division.sources.length
    for (const key of showing) if (this.#deferredOf(key).length === 0) count--
    return count
  }

  /** The sources with deferred tools, by label, each with its tools by name. A generator, since there may be many. */
  *deferredSources(): Generator<{ readonly source: ToolSource; readonly entries: readonly Entry[] }> {
    for (const key of this.#division.sources) {
      const entries = this.#deferredOf(key)
      if (entries.length > 0) yield { source: sourceOfKey(key), entries }
    }
  }

  #deferredOf(key: string): readonly Entry[] {
    const listings = this.snapshot.groups.get(key) ?? []
    return listings.flatMap(({ name }) => this.deferred.get(name) ?? []).sort(byName)
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

/** The listings of the newest snapshot that a policy permits. Asks the policy about each of them once. */
export class PermittedListings {
  readonly policy: CompiledPolicy
  /** Undefined if the policy permits all. */
  readonly #listings: Set<Listing> | undefined
  #newest: Snapshot | undefined

  constructor(policy: CompiledPolicy) {
    this.policy = policy
    this.#listings = policy.isOpen ? undefined : new Set()
  }

  /** Adds an entry that the policy permits. Returns whether it is permitted and not in quarantine. */
  add(entry: Entry, snapshot: Snapshot): boolean {
    const listings = this.#listings
    if (listings !== undefined && !listings.has(entry.listing)) {
      if (this.policy.denial(entry) !== undefined) return false
      listings.add(entry.listing)
    }
    return !isHeld(entry.name, snapshot)
  }

  remove(listings: readonly Listing[]): void {
    for (const listing of listings) this.#listings?.delete(listing)
  }

  /** Must be called once all entries of a snapshot are added, and those that left it removed. */
  complete(snapshot: Snapshot): void {
    this.#newest = snapshot
  }

  /** Whether a listing is in the snapshot and permitted; cheap enough to ask for thousands of them. */
  has(listing: Listing, snapshot: Snapshot): boolean {
    if (this.#listings !== undefined && this.#newest === snapshot)
      return this.#listings.has(listing) && !isHeld(listing.name, snapshot)
    const entry = snapshot.get(listing.name)
    return entry?.listing === listing && this.hasEntry(entry, snapshot)
  }

  /** Whether an entry of the snapshot is permitted. */
  hasEntry(entry: Entry, snapshot: Snapshot): boolean {
    if (isHeld(entry.name, snapshot)) return false
    if (this.#listings === undefined) return true
    if (this.#newest === snapshot) return this.#listings.has(entry.listing)
    return this.policy.denial(entry) === undefined
  }
}

/** Whether a tool is in quarantine. Mostly none is, and asking a map by name takes longer than its size. */
function isHeld(name: string, { quarantined }: Snapshot): boolean {
  return quarantined.size > 0 && quarantined.has(name)
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

/** Asks tools whether they are available now. Only `true` passes: a guard that returns anything else is broken. */
export class Availability {
  readonly #emit: Emit

  constructor(emit: Emit) {
    this.#emit = emit
  }

  /** True for a tool without `isAvailable()`. One that throws, or returns anything but a boolean, raises `tool-hidden`. */
  isAvailable(tool: Tool): boolean {
    if (tool.isAvailable === undefined) return true
    try {
      const answer: unknown = tool.isAvailable()
      if (typeof answer === 'boolean') return answer
      // A promise that rejects later must not end the process.
      if (answer instanceof Promise) answer.catch(() => {})
      const kind = answer instanceof Promise ? 'a promise' : answer === null ? 'null' : typeof answer
      this.#hide(tool, `isAvailable() returned ${kind}; it must return true or false`)
    } catch (error) {
      this.#hide(tool, describeError(error))
    }
    return false
  }

  #hide({ name }: Tool, error: string): void {
    this.#emit({ type: 'tool-hidden', name, error })
  }
}

function listDeferred(entries: readonly Entry[]): DeferredList {
  return {
    definitions: Object.freeze(entries.map(({ definition }) => definition)),
    fingerprint: hashText(entries.map(({ fingerprint }) => fingerprint).join(' ')),
  }
}
