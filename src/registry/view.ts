import { describeError } from '../errors.ts'
import type { Emit } from '../events.ts'
import { hashText } from '../json.ts'
import type { Listing, Tool, ToolDefinition } from '../tool.ts'
import type { Catalogue } from './catalogue.ts'
import type { Entry } from './entry.ts'
import { defersAll, isDeferred, type ModeDecision, type ModeHistory, type ModeSettings } from './mode.ts'
import { type CompiledPolicy, compilePolicy, type Gates, matcher } from './policy.ts'
import type { Snapshot } from './snapshot.ts'

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
  /** Undefined if everything that is registered is permitted. */
  readonly #permitted: ReadonlySet<Listing> | undefined
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
    const isAll = shown.length + deferred.length === snapshot.size
    this.deferred = isAll
      ? new AllBut(snapshot, shown, deferred)
      : new Map(deferred.map((entry) => [entry.name, entry]))
    this.#permitted = isAll ? undefined : new Set([...shown, ...deferred].map(({ listing }) => listing))
    const untrusted = new Set<string>()
    for (const entries of [shown, deferred])
      for (const { untrustedServer } of entries)
        if (untrustedServer !== undefined) untrusted.add(untrustedServer)
    this.untrustedServers = Object.freeze([...untrusted].sort())
  }

  /** True when every registered tool is permitted. */
  get permitsAll(): boolean {
    return this.#permitted === undefined
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
    if (this.#permitted !== undefined) return this.#permitted.has(listing)
    return this.snapshot.get(listing.name)?.listing === listing
  }

  /** The MCP servers with a permitted tool, by name. */
  serverNames(): readonly string[] {
    const servers = new Set<string>()
    for (const entries of [this.shown, this.deferred.values()])
      for (const { source } of entries) if (source.kind === 'mcp') servers.add(source.server)
    return [...servers].sort()
  }
}

/**
 * All entries of a snapshot but a few, by name. It reads the snapshot, since a map of a million entries takes as long to
 * make as all the rest of a view.
 */
class AllBut implements ReadonlyMap<string, Entry> {
  readonly #snapshot: Snapshot
  readonly #others: ReadonlySet<string>
  readonly #entries: readonly Entry[]

  constructor(snapshot: Snapshot, others: readonly Entry[], entries: readonly Entry[]) {
    this.#snapshot = snapshot
    this.#others = new Set(others.map(({ name }) => name))
    this.#entries = entries
  }

  get size(): number {
    return this.#entries.length
  }

  get(name: string): Entry | undefined {
    return this.#others.has(name) ? undefined : this.#snapshot.get(name)
  }

  has(name: string): boolean {
    return this.get(name) !== undefined
  }

  forEach(visit: (entry: Entry, name: string, map: ReadonlyMap<string, Entry>) => void): void {
    for (const entry of this.#entries) visit(entry, entry.name, this)
  }

  *keys(): Generator<string, undefined> {
    for (const { name } of this.#entries) yield name
  }

  values(): ArrayIterator<Entry> {
    return this.#entries.values()
  }

  *entries(): Generator<[string, Entry], undefined> {
    for (const entry of this.#entries) yield [entry.name, entry]
  }

  [Symbol.iterator](): Generator<[string, Entry], undefined> {
    return this.entries()
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

/** Asks tools whether they are available now. Only `true` passes: a guard that returns anything else is broken. */
export class Availability {
  readonly #emit: Emit

  constructor(emit: Emit) {
    this.#emit = emit
  }

  /** True for a tool without `isAvailable()`. One that throws, or returns no boolean, hides its tool with an event. */
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

/** What decides how a session sees the catalogue. */
export interface ViewSettings extends ModeSettings {
  readonly pinned: readonly string[]
  readonly searchTool: string
}

/** What a viewpoint looks at. */
export interface Scene {
  readonly catalogue: Catalogue
  readonly modes: ModeHistory
}

const NO_SEARCH: ModeDecision = { isLazy: false, isAuto: false, reason: 'no search tool is permitted' }

/**
 * How one or more sessions see the catalogue: settings and a policy. Keeps the view of the newest snapshot, so looking
 * again at an unchanged catalogue costs nothing.
 */
export class Viewpoint {
  readonly policy: CompiledPolicy
  readonly #settings: ViewSettings
  readonly #scene: Scene
  /** False when no search tool may be shown: nothing is deferred then, since nothing could bring it back. */
  readonly #canSearch: boolean
  readonly #isPinned: (name: string) => boolean
  #view: View | undefined

  /** `gate` decides whether the search tool may be shown; the policy itself when absent. */
  constructor(settings: ViewSettings, policy: CompiledPolicy, scene: Scene, gate: CompiledPolicy = policy) {
    this.policy = policy
    this.#settings = settings
    this.#scene = scene
    this.#canSearch = gate.denialOfMetaTool(settings.searchTool) === undefined
    this.#isPinned = matcher(settings.pinned) ?? (() => false)
  }

  current(): View {
    const snapshot = this.#scene.catalogue.snapshot()
    if (this.#view?.snapshot !== snapshot) this.#view = this.#look(snapshot)
    return this.#view
  }

  /** Says why a permitted tool is shown or deferred. */
  explain({ name, deferral, source }: Entry): string {
    const { mode, deferred } = this.current()
    const { defer, toolThreshold } = this.#settings
    if (!this.#canSearch) return `nothing is deferred: ${NO_SEARCH.reason}`
    if (this.#isPinned(name)) return 'pinned by name'
    if (deferral === 'pinned') return 'pinned: it was registered as never deferred'
    if (this.#settings.mode === 'full') return `nothing is deferred: ${mode.reason}`
    if (deferral === 'deferred') return 'registered as deferred'
    if (!mode.isLazy) return `only tools that ask for it are deferred: ${mode.reason}`
    if (!deferred.has(name)) return `defer is ${defer}, which leaves ${source.kind} tools shown`
    const isByNumber = defer === 'auto' && source.kind === 'builtin'
    const why = isByNumber ? `${toolThreshold} or more tools would stay shown` : `defer is ${defer}`
    return `${mode.reason}; ${why}`
  }

  #look(snapshot: Snapshot): View {
    const mode = this.#canSearch ? this.#scene.modes.decision(this.#settings) : NO_SEARCH
    const isOpen = this.policy.isOpen && snapshot.quarantined.size === 0
    const permitted = isOpen
      ? snapshot.sorted
      : snapshot.sorted.filter((entry) => denialOf(entry, snapshot, this.policy) === undefined)
    return new View(snapshot, mode, this.policy, this.#divide(permitted, mode.isLazy))
  }

  #divide(permitted: readonly Entry[], isLazy: boolean): { shown: Entry[]; deferred: Entry[] } {
    if (!this.#canSearch) return { shown: [...permitted], deferred: [] }
    const deferrable = permitted.filter(({ name }) => !this.#isPinned(name))
    const { recentlyGone } = this.#scene.modes
    const isAll = defersAll(deferrable, this.#settings, { isLazy, recentlyGone })
    const deferral = { ...this.#settings, isLazy, defer: isAll ? 'all' : this.#settings.defer } as const
    const shown: Entry[] = []
    const deferred: Entry[] = []
    for (const entry of permitted) {
      const isHidden = isDeferred(entry, deferral) && !this.#isPinned(entry.name)
      if (isHidden) deferred.push(entry)
      else shown.push(entry)
    }
    return { shown, deferred }
  }
}

/** How many are kept; a service opens its sessions in a handful of ways. */
const MAX_VIEWPOINTS = 100

/** Shares viewpoints: sessions that see the catalogue alike divide it once, however many they are. */
export class SharedViewpoints {
  readonly #scene: Scene
  readonly #shared = new Map<string, Viewpoint>()

  constructor(scene: Scene) {
    this.#scene = scene
  }

  of(settings: ViewSettings, gates: Gates): Viewpoint {
    const { mode, defer, toolThreshold, thresholdPercent, contextWindow, pinned, searchTool } = settings
    const key = JSON.stringify([
      mode,
      defer,
      toolThreshold,
      thresholdPercent,
      contextWindow,
      pinned,
      searchTool,
      gates,
    ])
    const shared = this.#shared.get(key) ?? new Viewpoint(settings, compilePolicy(gates), this.#scene)
    // Put back at the end: the first is the one that was requested longest ago.
    this.#shared.delete(key)
    this.#shared.set(key, shared)
    const [oldest] = this.#shared.keys()
    if (this.#shared.size > MAX_VIEWPOINTS && oldest !== undefined) this.#shared.delete(oldest)
    return shared
  }
}
