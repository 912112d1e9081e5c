import { sourceKey, sourceLabel, sourceOfKey } from '../names.ts'
import type { Listing } from '../tool.ts'
import type { Entry } from './entry.ts'
import { isDeferred, isLeftShown, type ModeSettings } from './mode.ts'
import type { CompiledPolicy } from './policy.ts'
import { changedGroups, type Snapshot } from './snapshot.ts'

/** What decides whether an entry is permitted, and whether it is shown. */
export interface DivisionRules {
  readonly policy: CompiledPolicy
  readonly mode: ModeSettings['mode']
  readonly defer: ModeSettings['defer']
  readonly isLazy: boolean
  /** False where everything that is permitted is shown. */
  readonly canDefer: boolean
  isPinned(name: string): boolean
}

/** A snapshot as a policy and a mode divide it. What is permitted and not shown is deferred. */
export interface Division {
  readonly snapshot: Snapshot
  /** How many tools are permitted. */
  readonly permitted: number
  /** Permitted, and shown in any case, by name. */
  readonly shown: readonly Entry[]
  /** Permitted, and shown as long as there are few of them, by name. */
  readonly leftShown: readonly Entry[]
  /** Keys of the sources that have a permitted tool, by label. */
  readonly sources: readonly string[]
  /** MCP servers that have a permitted tool, by name; and those of them without `trust`. */
  readonly servers: readonly string[]
  readonly untrustedServers: readonly string[]
  /** Whether a listing is in the snapshot and permitted; cheap enough to ask for thousands of them. */
  permits(listing: Listing): boolean
  /** Whether an entry of the snapshot is permitted. */
  permitsEntry(entry: Entry): boolean
}

/**
 * Divides snapshot after snapshot. The first one is read as a whole; of each later one, only the sources that have changed,
 * and lists that stay the same are the same objects.
 */
export class Divider {
  readonly #rules: DivisionRules
  /** The listings of the newest snapshot that the policy permits; undefined if it permits all. */
  readonly #permitted: Set<Listing> | undefined
  #newest: Division | undefined

  constructor(rules: DivisionRules) {
    this.#rules = rules
    this.#permitted = rules.policy.isOpen ? undefined : new Set()
  }

  get isLazy(): boolean {
    return this.#rules.isLazy
  }

  divide(snapshot: Snapshot): Division {
    if (this.#newest?.snapshot !== snapshot) this.#newest = this.#next(snapshot)
    return this.#newest
  }

  #next(snapshot: Snapshot): Division {
    const last = this.#newest
    const gone = new Tally()
    const come = new Tally()
    for (const [key, before, after] of changesBetween(last?.snapshot, snapshot)) {
      if (last !== undefined) this.#count(key, before, last.snapshot, gone)
      for (const listing of before) this.#permitted?.delete(listing)
      this.#count(key, after, snapshot, come)
    }
    return {
      snapshot,
      permitted: (last?.permitted ?? 0) + come.permitted - gone.permitted,
      shown: changed(last?.shown, gone.shown, come.shown, nameOf),
      leftShown: changed(last?.leftShown, gone.leftShown, come.leftShown, nameOf),
      sources: changed(last?.sources, gone.sources, come.sources, labelOf),
      servers: changed(last?.servers, gone.servers, come.servers, itself),
      untrustedServers: changed(last?.untrustedServers, gone.untrusted, come.untrusted, itself),
      permits: (listing) => this.#permits(listing, snapshot),
      permitsEntry: (entry) => this.#permitsEntry(entry, snapshot),
    }
  }

  /** Counts the permitted tools among a source's listings. */
  #count(key: string, listings: readonly Listing[], snapshot: Snapshot, tally: Tally): void {
    const { isPinned, canDefer, mode, defer, isLazy } = this.#rules
    const before = tally.permitted
    let server: string | undefined
    let untrusted: string | undefined
    for (const listing of listings) {
      const entry = snapshot.get(listing.name)
      if (entry === undefined || !this.#isPermitted(entry, snapshot)) continue
      tally.permitted++
      if (entry.source.kind === 'mcp') server = entry.source.server
      untrusted ??= entry.untrustedServer
      if (!canDefer || isPinned(entry.name)) tally.shown.push(entry)
      else if (!isDeferred(entry, { isLazy, mode, defer })) {
        const isLeft = defer === 'auto' && isLazy && isLeftShown(entry, { isLazy, mode })
        if (isLeft) tally.leftShown.push(entry)
        else tally.shown.push(entry)
      }
    }
    if (tally.permitted > before) tally.sources.push(key)
    if (server !== undefined) tally.servers.push(server)
    if (untrusted !== undefined) tally.untrusted.push(untrusted)
  }

  /** Asks the policy once about each listing of the newest snapshot. */
  #isPermitted(entry: Entry, { quarantined }: Snapshot): boolean {
    const permitted = this.#permitted
    if (permitted !== undefined && !permitted.has(entry.listing)) {
      if (this.#rules.policy.denial(entry) !== undefined) return false
      permitted.add(entry.listing)
    }
    return !quarantined.has(entry.name)
  }

  #permits(listing: Listing, snapshot: Snapshot): boolean {
    if (this.#permitted !== undefined && this.#newest?.snapshot === snapshot)
      return this.#permitted.has(listing) && !snapshot.quarantined.has(listing.name)
    const entry = snapshot.get(listing.name)
    return entry?.listing === listing && this.#permitsEntry(entry, snapshot)
  }

  #permitsEntry(entry: Entry, snapshot: Snapshot): boolean {
    if (snapshot.quarantined.has(entry.name)) return false
    if (this.#permitted === undefined) return true
    if (this.#newest?.snapshot === snapshot) return this.#permitted.has(entry.listing)
    return this.#rules.policy.denial(entry) === undefined
  }
}

/** What some sources have, in no order. */
class Tally {
  permitted = 0
  readonly shown: Entry[] = []
  readonly leftShown: Entry[] = []
  readonly sources: string[] = []
  readonly servers: string[] = []
  readonly untrusted: string[] = []
}

type SourceChange = readonly [key: string, before: readonly Listing[], after: readonly Listing[]]

/** The sources whose listings differ, and those whose tools are held back or released. */
function* changesBetween(last: Snapshot | undefined, snapshot: Snapshot): Generator<SourceChange> {
  const seen = new Set<string>()
  for (const change of changedGroups(last?.groups ?? new Map(), snapshot.groups)) {
    seen.add(change[0])
    yield change
  }
  if (last === undefined || last.quarantined === snapshot.quarantined) return
  const names = new Set([...last.quarantined.keys(), ...snapshot.quarantined.keys()])
  for (const name of names) {
    const entry = snapshot.get(name)
    const isSame = last.quarantined.has(name) === snapshot.quarantined.has(name)
    if (isSame || entry === undefined) continue
    const key = sourceKey(entry.source)
    if (seen.has(key)) continue
    seen.add(key)
    const listings = snapshot.groups.get(key) ?? []
    yield [key, listings, listings]
  }
}

/** A sorted list without some items and with others; the list itself if that makes no difference. */
function changed<Item>(
  list: readonly Item[] = [],
  gone: readonly Item[],
  come: readonly Item[],
  keyOf: (item: Item) => string,
): readonly Item[] {
  const left = new Set(gone)
  const fresh = come.filter((item) => !left.delete(item))
  if (left.size === 0 && fresh.length === 0) return list
  const keyed = fresh.map((item) => [keyOf(item), item] as const).sort(([a], [b]) => (a < b ? -1 : 1))
  const all: Item[] = []
  let next = 0
  for (const item of list) {
    if (left.has(item)) continue
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
