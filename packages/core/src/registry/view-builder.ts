import { sourceLabel, sourceOfKey } from '../names.ts'
import type { Listing } from '../tool.ts'
import type { Catalogue } from './catalogue.ts'
import { byName, type Entry } from './entry.ts'
import {
  defersAll,
  isDeferred,
  isLeftShown,
  type ModeDecision,
  type ModeHistory,
  type ModeSettings,
} from './mode.ts'
import { PermittingNames } from './name-patterns.ts'
import { PermittedListings } from './permitted-listings.ts'
import { type CompiledPolicy, compilePolicy, type Gates } from './policy.ts'
import { changedGroups, changesBetween, type Snapshot } from './snapshot.ts'
import { type Division, View } from './view.ts'

/** What decides how a session sees the catalogue. */
export interface ViewSettings extends ModeSettings {
  readonly pinned: readonly string[]
  readonly searchTool: string
}

/** What a view is built from: the catalogue and the mode decisions. */
export interface ViewSource {
  readonly catalogue: Catalogue
  readonly modes: ModeHistory
}

const NO_SEARCH: ModeDecision = { isLazy: false, isAuto: false, reason: 'no search tool is permitted' }

/**
 * How one or more sessions see the catalogue: settings and a policy. Keeps the view of the newest snapshot, so looking
 * again at an unchanged catalogue costs nothing. The first snapshot is read as a whole; of each later one, only the
 * sources that have changed.
 */
export class ViewBuilder {
  readonly policy: CompiledPolicy
  #settings: ViewSettings
  readonly #source: ViewSource
  /** False when no search tool may be shown: nothing is deferred then, since nothing could bring it back. */
  readonly #canSearch: boolean
  #pinned: PermittingNames
  #division: Division | undefined
  #view: View | undefined

  /** `gate` decides whether the search tool may be shown; the policy itself when absent. */
  constructor(
    settings: ViewSettings,
    policy: CompiledPolicy,
    source: ViewSource,
    gate: CompiledPolicy = policy,
  ) {
    this.policy = policy
    this.#settings = settings
    this.#source = source
    this.#canSearch = gate.denialOfMetaTool(settings.searchTool) === undefined
    this.#pinned = new PermittingNames(settings.pinned)
  }

  current(): View {
    const snapshot = this.#source.catalogue.snapshot()
    if (this.#view?.snapshot !== snapshot) this.#view = this.#look(snapshot)
    return this.#view
  }

  /** Pins these names too. */
  pin(names: readonly string[]): void {
    this.#settings = { ...this.#settings, pinned: [...new Set([...this.#settings.pinned, ...names])] }
    this.#pinned = new PermittingNames(this.#settings.pinned)
    this.#view = undefined
    this.#division = undefined
  }

  /** Whether auto mode decides what is deferred. */
  get mayTurnLazy(): boolean {
    return this.#settings.mode === 'auto' && this.#canSearch
  }

  /** Says why a permitted tool is shown or deferred. */
  explain(entry: Entry): string {
    const { name, deferral, source } = entry
    const { mode, deferred } = this.current()
    const { defer, toolThreshold } = this.#settings
    if (!this.#canSearch) return `nothing is deferred: ${NO_SEARCH.reason}`
    if (this.#isPinned(entry)) return 'pinned by name'
    if (deferral === 'pinned') return 'pinned: it was registered as never deferred'
    if (deferral === 'while-few' && this.#division?.isFew)
      return `a function, never deferred while there are fewer than ${toolThreshold} tools`
    if (this.#settings.mode === 'full') return `nothing is deferred: ${mode.reason}`
    if (deferral === 'deferred') return 'registered as deferred'
    if (!mode.isLazy) return `only tools that ask for it are deferred: ${mode.reason}`
    if (!deferred.has(name)) return `defer is ${defer}, which leaves ${source.kind} tools shown`
    const isByNumber = defer === 'auto' && source.kind === 'builtin'
    const why = isByNumber ? `${toolThreshold} or more tools would stay shown` : `defer is ${defer}`
    return `${mode.reason}; ${why}`
  }

  #look(snapshot: Snapshot): View {
    const mode = this.#canSearch ? this.#source.modes.decision(this.#settings) : NO_SEARCH
    const isFew = this.#source.modes.steadySize < this.#settings.toolThreshold
    const division = this.#divide(snapshot, mode.isLazy, isFew)
    this.#division = division
    const { shown, leftShown } = division
    const { recentlyGone } = this.#source.modes
    const isAll = defersAll(leftShown.length, this.#settings, { isLazy: mode.isLazy, recentlyGone })
    return new View({
      mode,
      division,
      shown: isAll || leftShown.length === 0 ? shown : [...shown, ...leftShown].sort(byName),
    })
  }

  /** Continues the division of the snapshot before. Lists that stay the same are the same objects. */
  #divide(snapshot: Snapshot, isLazy: boolean, isFew: boolean): Division {
    // Another mode may move any tool, and a name that is taken or free now may permit another: all is read again.
    const before = this.#division
    const isSame = before?.isLazy === isLazy && before.isFew === isFew
    const last = isSame && !this.#isRenamed(before.snapshot, snapshot) ? before : undefined
    const permitted = last?.permitted ?? new PermittedListings(this.policy)
    const removed = new Tally()
    const added = new Tally()
    for (const [key, before, after] of changesBetween(last?.snapshot, snapshot)) {
      if (last !== undefined) this.#count(key, before, last, removed)
      permitted.remove(before)
      this.#count(key, after, { snapshot, permitted, isLazy, isFew }, added)
    }
    permitted.complete(snapshot)
    return {
      snapshot,
      isLazy,
      isFew,
      permitted,
      permittedCount: (last?.permittedCount ?? 0) + added.permitted - removed.permitted,
      shown: changed(last?.shown, removed.shown, added.shown, nameOf),
      leftShown: changed(last?.leftShown, removed.leftShown, added.leftShown, nameOf),
      sources: changed(last?.sources, removed.sources, added.sources, labelOf),
      servers: changed(last?.servers, removed.servers, added.servers, itself),
      untrustedServers: changed(last?.untrustedServers, removed.untrusted, added.untrusted, itself),
    }
  }

  /** Whether names that the policy reads may mean other tools than before, because tools from no server changed. */
  #isRenamed(last: Snapshot, snapshot: Snapshot): boolean {
    if (!this.policy.readsBareNames) return false
    for (const [key] of changedGroups(last.groups, snapshot.groups))
      if (sourceOfKey(key).kind !== 'mcp') return true
    return false
  }

  #isPinned({ listing }: Entry): boolean {
    return this.#pinned.has(listing)
  }

  /** Counts the permitted tools among a source's listings. */
  #count(
    key: string,
    listings: readonly Listing[],
    { snapshot, permitted, isLazy, isFew }: Pick<Division, 'snapshot' | 'permitted' | 'isLazy' | 'isFew'>,
    tally: Tally,
  ): void {
    const { mode, defer } = this.#settings
    const before = tally.permitted
    let server: string | undefined
    let untrusted: string | undefined
    for (const listing of listings) {
      const entry = snapshot.get(listing.name)
      if (entry === undefined || !permitted.add(entry, snapshot)) continue
      tally.permitted++
      if (entry.source.kind === 'mcp') server = entry.source.server
      untrusted ??= entry.untrustedServer
      if (!this.#canSearch || this.#isPinned(entry)) tally.shown.push(entry)
      else if (!isDeferred(entry, { isLazy, mode, defer, isFew })) {
        const isLeft = defer === 'auto' && isLazy && isLeftShown(entry, { isLazy, mode, isFew })
        if (isLeft) tally.leftShown.push(entry)
        else tally.shown.push(entry)
      }
    }
    if (tally.permitted > before) tally.sources.push(key)
    if (server !== undefined) tally.servers.push(server)
    if (untrusted !== undefined) tally.untrusted.push(untrusted)
  }
}

/** What the permitted tools of some sources add to a division, unsorted. */
class Tally {
  permitted = 0
  readonly shown: Entry[] = []
  readonly leftShown: Entry[] = []
  readonly sources: string[] = []
  readonly servers: string[] = []
  readonly untrusted: string[] = []
}

/** Removes items from a sorted list and adds others. Returns the list itself if nothing changes. */
function changed<Item>(
  list: readonly Item[] = [],
  removed: readonly Item[],
  added: readonly Item[],
  keyOf: (item: Item) => string,
): readonly Item[] {
  const dropped = new Set(removed)
  const fresh = added.filter((item) => !dropped.delete(item))
  if (dropped.size === 0 && fresh.length === 0) return list
  const keyed = fresh.map((item) => [keyOf(item), item] as const).sort(([a], [b]) => (a < b ? -1 : 1))
  const all: Item[] = []
  let next = 0
  for (const item of list) {
    if (dropped.has(item)) continue
    if (next < keyed.length) {
      const key = keyOf(item)
      for (let other = keyed[next]; other !== undefined && other[0] < key; other = keyed[++next])
        all.push(other[1])
    }
    all.push(item)
  }
  for (; next < keyed.length; next++) all.push((keyed[next] as readonly [string, Item])[1])
  return Object.freeze(all)
}

function nameOf({ name }: Entry): string {
  return name
}

function labelOf(key: string): string {
  return sourceLabel(sourceOfKey(key))
}

function itself(text: string): string {
  return text
}

/** How many are kept; a service opens its sessions in a handful of ways. */
const MAX_BUILDERS = 100

/** Shares view builders: sessions that see the catalogue alike divide it once, however many they are. */
export class SharedViewBuilders {
  readonly #source: ViewSource
  readonly #shared = new Map<string, ViewBuilder>()

  constructor(source: ViewSource) {
    this.#source = source
  }

  of(settings: ViewSettings, gates: Gates): ViewBuilder {
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
    const shared = this.#shared.get(key) ?? new ViewBuilder(settings, compilePolicy(gates), this.#source)
    // Moved to the end, so that the first one is the least recently requested.
    this.#shared.delete(key)
    this.#shared.set(key, shared)
    const [oldest] = this.#shared.keys()
    if (this.#shared.size > MAX_BUILDERS && oldest !== undefined) this.#shared.delete(oldest)
    return shared
  }
}
