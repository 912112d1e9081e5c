import type { Catalogue } from '../registry/catalogue.ts'
import type { CompiledPolicy } from '../registry/policy.ts'
import { denialOf, type Viewpoint } from '../registry/view.ts'
import type { Listing } from '../tool.ts'
import { acceptEvery } from './searcher.ts'

/** Who searches: which servers to wait for, and which listings of the newest catalogue may be found. */
export interface Audience {
  permitsServer(server: string): boolean
  /** Returns the filter for the current catalogue. Call it after waiting for servers. */
  accepter(): (listing: Listing) => boolean
}

/** Searches with a policy and without a session. */
export class PolicyAudience implements Audience {
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

/** Searches from a session's point of view: every tool it may use, only deferred ones, or only shown ones. */
export class SessionAudience implements Audience {
  readonly #viewpoint: Pick<Viewpoint, 'policy' | 'current'>
  readonly #among: 'all' | 'deferred' | 'shown'

  constructor(viewpoint: Pick<Viewpoint, 'policy' | 'current'>, among: 'all' | 'deferred' | 'shown') {
    this.#viewpoint = viewpoint
    this.#among = among
  }

  permitsServer(server: string): boolean {
    return this.#viewpoint.policy.permitsServer(server)
  }

  accepter(): (listing: Listing) => boolean {
    const view = this.#viewpoint.current()
    const { deferred } = view
    if (this.#among === 'deferred')
      return deferred.size === view.snapshot.size ? acceptEvery : ({ name }) => deferred.has(name)
    if (this.#among === 'shown') return (listing) => view.permits(listing) && !deferred.has(listing.name)
    return view.permitsAll ? acceptEvery : (listing) => view.permits(listing)
  }
}
