import { ToolcribError } from '../errors.ts'
import type { SyncReport } from '../events.ts'
import { nameSkeletons, sourceKey } from '../names.ts'
import type { Listing } from '../tool.ts'
import { type Entry, EntryOrder } from './entry.ts'
import { Snapshot, SnapshotMap } from './snapshot.ts'

/**
 * The tools that exist. A snapshot is taken on the first read after a write and costs as much as what changed since the
 * last one, so ten thousand registrations in a row cost ten thousand steps and readers never see half a change.
 */
export class Catalogue {
  readonly #entries = new SnapshotMap<Entry>()
  readonly #nameBySkeleton = new Map<string, string>()
  readonly #sources = new Map<string, SourceEntries>()
  readonly #groups = new SnapshotMap<readonly Listing[]>()
  readonly #quarantined = new Map<string, string>()
  /** A copy for snapshots; undefined after a change. */
  #heldBack: ReadonlyMap<string, string> | undefined
  readonly #reserved: ReadonlyMap<string, string>
  readonly #onChange: () => void
  #version = 0
  /** Sources whose listings changed since the last snapshot. */
  readonly #changedSources = new Set<string>()
  readonly #order = new EntryOrder()
  #snapshot: Snapshot | undefined
  #tokens: number | undefined
  #undecided = 0

  constructor(reservedNames: readonly string[], onChange: () => void) {
    this.#onChange = onChange
    this.#reserved = new Map(
      reservedNames.flatMap((name) => nameSkeletons(name).map((skeleton) => [skeleton, name])),
    )
  }

  get size(): number {
    return this.#entries.size
  }

  /** About how many tokens all definitions take together; counted on first use and then kept up to date. */
  get tokens(): number {
    if (this.#tokens === undefined) {
      let tokens = 0
      for (const entry of this.#entries.values()) tokens += entry.tokens
      this.#tokens = tokens
    }
    return this.#tokens
  }

  /** The number of built-in tools for which `defer` decides whether they are deferred. */
  get undecided(): number {
    return this.#undecided
  }

  get(name: string): Entry | undefined {
    return this.#entries.get(name)
  }

  /** Adds all of these tools or, when one of them cannot be added, none. */
  addAll(entries: readonly Entry[]): void {
    const added: Entry[] = []
    try {
      for (const entry of entries) {
        const fault = this.#faultOf(entry, false)
        if (fault) throw fault
        this.#put(entry)
        added.push(entry)
      }
    } catch (fault) {
      for (const entry of added) this.#drop(entry)
      throw fault
    }
    this.#changed()
  }

  /** Adds a tool, or throws: `name-invalid` for a reserved name, `tool-duplicate` for one that is taken. */
  add(entry: Entry, { replace }: { replace: boolean }): void {
    const fault = this.#faultOf(entry, replace)
    if (fault) throw fault
    const replaced = this.#entries.get(entry.name)
    if (replaced) this.#drop(replaced)
    this.#put(entry)
    this.#changed()
  }

  remove(name: string): Entry | undefined {
    const entry = this.#entries.get(name)
    if (!entry) return undefined
    this.#drop(entry)
    this.#changed()
    return entry
  }

  /** Swaps all tools of one source at once. Tools whose names are taken are skipped and reported. */
  replaceSource(key: string, entries: readonly Entry[]): SyncReport {
    const before = new Map(this.#entriesOf(key).map((entry) => [entry.name, entry]))
    for (const entry of before.values()) this.#drop(entry)
    const report = {
      added: [] as string[],
      removed: [] as string[],
      changed: [] as string[],
      skipped: [] as Skip[],
    }
    for (const entry of entries) {
      const fault = this.#faultOf(entry, false)
      if (fault) {
        report.skipped.push({ name: entry.name, reason: fault.message })
        continue
      }
      const old = before.get(entry.name)
      if (!old) report.added.push(entry.name)
      else if (isChanged(old, entry)) report.changed.push(entry.name)
      this.#put(entry)
    }
    for (const name of before.keys()) if (this.#entries.get(name) === undefined) report.removed.push(name)
    this.#changed()
    return report
  }

  quarantine(name: string, reason: string): void {
    this.#quarantined.set(name, reason)
    this.#heldBack = undefined
    this.#changed()
  }

  release(name: string): boolean {
    if (!this.#quarantined.delete(name)) return false
    this.#heldBack = undefined
    this.#changed()
    return true
  }

  snapshot(): Snapshot {
    this.#snapshot ??= this.#takeSnapshot()
    return this.#snapshot
  }

  #faultOf(entry: Entry, replace: boolean): ToolcribError | undefined {
    const reserved = firstOf(entry.skeletons, this.#reserved)
    if (reserved)
      return new ToolcribError(
        'name-invalid',
        `"${entry.name}" is reserved for the meta-tool ${reserved}; rename it`,
      )
    const taken = firstOf(entry.skeletons, this.#nameBySkeleton)
    const holder = taken === undefined ? undefined : this.#entries.get(taken)
    if (!holder) return undefined
    const from = describeSource(holder)
    if (holder.name !== entry.name)
      return new ToolcribError(
        'tool-duplicate',
        `"${entry.name}" is too similar to "${holder.name}" ${from}; rename one`,
      )
    if (!replace)
      return new ToolcribError(
        'tool-duplicate',
        `"${entry.name}" is already registered ${from}; pass replace: true, or rename one`,
      )
    if (holder.source.kind === 'builtin' && entry.source.kind !== 'builtin')
      return new ToolcribError(
        'tool-duplicate',
        `"${entry.name}" is built in; no ${entry.source.kind} tool may take its name`,
      )
    return undefined
  }

  #put(entry: Entry): void {
    const key = sourceKey(entry.source)
    this.#entries.set(entry.name, entry)
    this.#order.note(entry.name)
    for (const skeleton of entry.skeletons) this.#nameBySkeleton.set(skeleton, entry.name)
    const siblings = this.#sources.get(key)
    if (siblings === undefined) this.#sources.set(key, { entries: [entry], live: 1 })
    else {
      siblings.entries.push(entry)
      siblings.live++
      // Tools may be added and removed forever without a read in between.
      if (siblings.entries.length > 2 * siblings.live + SPARE_ENTRIES) this.#entriesOf(key)
    }
    this.#changedSources.add(key)
    if (this.#tokens !== undefined) this.#tokens += entry.tokens
    if (isUndecided(entry)) this.#undecided++
  }

  #drop(entry: Entry): void {
    const key = sourceKey(entry.source)
    this.#entries.delete(entry.name)
    this.#order.note(entry.name)
    for (const skeleton of entry.skeletons) this.#nameBySkeleton.delete(skeleton)
    const siblings = this.#sources.get(key)
    if (siblings !== undefined && --siblings.live === 0) this.#sources.delete(key)
    this.#changedSources.add(key)
    if (this.#tokens !== undefined) this.#tokens -= entry.tokens
    if (isUndecided(entry)) this.#undecided--
  }

  #changed(): void {
    this.#version++
    this.#snapshot = undefined
    this.#onChange()
  }

  #takeSnapshot(): Snapshot {
    for (const key of this.#changedSources) {
      const listings = this.#entriesOf(key).map(({ listing }) => listing)
      if (listings.length === 0) this.#groups.delete(key)
      else this.#groups.set(key, Object.freeze(listings))
    }
    this.#changedSources.clear()
    this.#heldBack ??= new Map(this.#quarantined)
    return new Snapshot(
      this.#version,
      this.#entries.snapshot(),
      this.#groups.snapshot(),
      this.#heldBack,
      this.#order,
    )
  }

  /** The entries of a source, in the order in which they were registered. */
  #entriesOf(key: string): readonly Entry[] {
    const held = this.#sources.get(key)
    if (held === undefined) return []
    if (held.live < held.entries.length)
      held.entries = [...new Set(held.entries)].filter((entry) => this.#entries.get(entry.name) === entry)
    return held.entries
  }
}

const SPARE_ENTRIES = 64

/** The entries of one source, including removed ones until the next read. */
interface SourceEntries {
  entries: Entry[]
  live: number
}

function isChanged(old: Entry, entry: Entry): boolean {
  return old.definition !== entry.definition && old.fingerprint !== entry.fingerprint
}

function isUndecided({ source, deferral }: Entry): boolean {
  return source.kind === 'builtin' && (deferral === 'unset' || deferral === 'while-few')
}

function firstOf(keys: readonly string[], map: ReadonlyMap<string, string>): string | undefined {
  return keys.map((key) => map.get(key)).find((value) => value !== undefined)
}

type Skip = { readonly name: string; readonly reason: string }

function describeSource({ source }: Entry): string {
  if (source.kind === 'mcp') return `by the MCP server "${source.server}"`
  if (source.kind === 'plugin') return `by the plugin "${source.plugin}"`
  if (source.kind === 'openapi') return `by the API "${source.api}"`
  return 'as a built-in'
}
