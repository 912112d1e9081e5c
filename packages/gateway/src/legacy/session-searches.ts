/** How long a session that no replica has is not looked for again, and for how many sessions this is remembered. */
const MISSING_MS = 5_000
const MAX_MISSING = 1_000
/** How many sessions are looked for at once. */
const MAX_SOUGHT = 100
/** How many sessions the clients of one token may look for per second, and at once after a pause. */
const PER_SECOND = 10
const AT_ONCE = 20
/** Tokens whose rate is remembered; the least recently active one is forgotten. */
const MAX_PRINCIPALS = 1_000

interface Allowance {
  readonly left: number
  readonly at: number
}

/**
 * Limits how often other replicas are asked for a session: a client that invents ids must not keep all of them busy.
 */
export class SessionSearches {
  readonly #now: () => number
  readonly #missing = new Map<string, number>()
  readonly #allowances = new Map<string, Allowance>()
  #sought = 0

  constructor(now: () => number) {
    this.#now = now
  }

  /** Counts a search; returns a function that ends it. Throws if there are too many. */
  begin(principal: string): () => void {
    if (this.#sought >= MAX_SOUGHT) throw new Error(`${MAX_SOUGHT} sessions are being looked for`)
    const left = this.#left(principal)
    if (left < 1) throw new Error(`one token has more than ${PER_SECOND} sessions looked for within a second`)
    this.#allowances.delete(principal)
    this.#allowances.set(principal, { left: left - 1, at: this.#now() })
    if (this.#allowances.size > MAX_PRINCIPALS) deleteFirst(this.#allowances)
    this.#sought++
    return () => {
      this.#sought--
    }
  }

  /** Records that no replica has a session. */
  noteMissing(id: string): void {
    this.#missing.set(id, this.#now() + MISSING_MS)
    if (this.#missing.size > MAX_MISSING) deleteFirst(this.#missing)
  }

  /** Whether no replica had this session a moment ago. */
  isMissing(id: string): boolean {
    const until = this.#missing.get(id)
    if (until === undefined) return false
    if (this.#now() < until) return true
    this.#missing.delete(id)
    return false
  }

  #left(principal: string): number {
    const { left, at } = this.#allowances.get(principal) ?? { left: AT_ONCE, at: this.#now() }
    return Math.min(AT_ONCE, left + (Math.max(0, this.#now() - at) * PER_SECOND) / 1_000)
  }
}

function deleteFirst(map: Map<string, unknown>): void {
  map.delete(map.keys().next().value ?? '')
}
