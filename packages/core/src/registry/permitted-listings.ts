import type { Listing, ToolDefinition } from '../tool.ts'
import type { Entry } from './entry.ts'
import type { CompiledPolicy } from './policy.ts'
import type { Snapshot } from './snapshot.ts'

/** The deferred tools of one source, by name. */
export interface SourceTools {
  /** As the source names them. */
  readonly ownNames: readonly string[]
  readonly definitions: readonly ToolDefinition[]
  readonly fingerprint: string
}

/** What was deferred of a source, and what that depends on. */
interface DeferredOfSource {
  readonly shown: string | undefined
  readonly quarantined: Snapshot['quarantined']
  readonly tools: SourceTools
}

/** The listings of the newest snapshot that a policy permits. Asks the policy about each of them once. */
export class PermittedListings {
  readonly policy: CompiledPolicy
  /** What is deferred of each source that has these listings, as long as what is shown and quarantined stays. */
  readonly deferred = new WeakMap<readonly Listing[], DeferredOfSource>()
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
      if (this.policy.denial(entry, snapshot) !== undefined) return false
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
    return this.policy.denial(entry, snapshot) === undefined
  }
}

/** Whether a tool is in quarantine. Mostly none is, and asking a map by name takes longer than its size. */
function isHeld(name: string, { quarantined }: Snapshot): boolean {
  return quarantined.size > 0 && quarantined.has(name)
}

/** Returns the gate that refuses a tool: quarantine first, then the policy. */
export function denialOf(entry: Entry, snapshot: Snapshot, policy: CompiledPolicy): string | undefined {
  const quarantine = snapshot.quarantined.get(entry.name)
  return quarantine === undefined ? policy.denial(entry, snapshot) : `quarantine (${quarantine})`
}
