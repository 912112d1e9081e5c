/** A tool checked out by a session. */
export interface Activation {
  readonly name: string
  /** The definition it was checked out with. */
  readonly fingerprint: string
  readonly tokens: number
  /** Preloaded: outside the cap, never evicted. */
  readonly isKept: boolean
  /** Grows with every use; the smallest is the least recently used. */
  readonly lastUse: number
}

/** What is to be checked out, best first. */
export interface Candidate {
  readonly name: string
  readonly fingerprint: string
  readonly tokens: number
}

export interface Caps {
  /** How many tools may be active, preloaded ones not counted; 0 = no cap. */
  readonly maxActive: number
  /** How many tokens their definitions may take; 0 = no cap. */
  readonly maxActiveTokens: number
}

export interface Change {
  /** Active after the change, in the order asked for. */
  readonly activated: readonly string[]
  readonly evicted: readonly Activation[]
}

/** What one session has checked out, in the order it was checked out. */
export class Activations {
  readonly #caps: Caps
  readonly #active = new Map<string, Activation>()
  #uses = 0

  constructor(caps: Caps) {
    this.#caps = caps
  }

  /** Goes on from what was saved; answers what the caps leave no room for. */
  restore(saved: readonly Activation[]): readonly Activation[] {
    for (const activation of saved) this.#active.set(activation.name, activation)
    this.#uses = saved.reduce((latest, { lastUse }) => Math.max(latest, lastUse), this.#uses)
    return this.#evictBeyond(new Set())
  }

  has(name: string): boolean {
    return this.#active.has(name)
  }

  /** In the order they were activated, which no later use changes. */
  list(): readonly Activation[] {
    return [...this.#active.values()]
  }

  /** A call counts as use. */
  use(name: string): void {
    const activation = this.#active.get(name)
    if (activation) this.#active.set(name, { ...activation, lastUse: ++this.#uses })
  }

  /**
   * Checks out a batch, best first. Others make room, least recently used first; a batch larger than the cap
   * keeps its best.
   */
  activate(batch: readonly Candidate[]): Change {
    const members = this.#bestOf(batch)
    members.forEach((candidate, rank) => {
      this.#mark(candidate, this.#uses + members.length - rank)
    })
    this.#uses += members.length
    const names = members.map(({ name }) => name)
    return { activated: names, evicted: this.#evictBeyond(new Set(names)) }
  }

  /** Checks out for good: outside the cap, never evicted. */
  preload(batch: readonly Candidate[]): void {
    for (const candidate of batch) {
      this.#active.set(candidate.name, { ...candidate, isKept: true, lastUse: ++this.#uses })
    }
  }

  deactivate(names: readonly string[]): readonly Activation[] {
    const gone = names.flatMap((name) => this.#active.get(name) ?? [])
    for (const { name } of gone) this.#active.delete(name)
    return gone
  }

  #bestOf(batch: readonly Candidate[]): readonly Candidate[] {
    const members = new Map<string, Candidate>()
    let count = 0
    let tokens = 0
    for (const candidate of batch) {
      if (members.has(candidate.name)) continue
      if (!this.#active.get(candidate.name)?.isKept) {
        count++
        tokens += candidate.tokens
        // The best one always gets in: a tool larger than the whole budget must not be out of reach.
        if (count > 1 && this.#isBeyond(count, tokens)) break
      }
      members.set(candidate.name, candidate)
    }
    return [...members.values()]
  }

  // The best of a batch counts as used most recently; in the order of the surface it comes first.
  #mark({ name, fingerprint, tokens }: Candidate, lastUse: number): void {
    const isKept = this.#active.get(name)?.isKept ?? false
    this.#active.set(name, { name, fingerprint, tokens, isKept, lastUse })
  }

  #evictBeyond(members: ReadonlySet<string>): readonly Activation[] {
    const counted = this.list().filter(({ isKept }) => !isKept)
    let count = counted.length
    let tokens = counted.reduce((sum, activation) => sum + activation.tokens, 0)
    const evicted: Activation[] = []
    const oldestFirst = counted.filter(({ name }) => !members.has(name)).sort((a, b) => a.lastUse - b.lastUse)
    for (const activation of oldestFirst) {
      if (!this.#isBeyond(count, tokens)) break
      this.#active.delete(activation.name)
      evicted.push(activation)
      count--
      tokens -= activation.tokens
    }
    return evicted
  }

  #isBeyond(count: number, tokens: number): boolean {
    const { maxActive, maxActiveTokens } = this.#caps
    return (maxActive > 0 && count > maxActive) || (maxActiveTokens > 0 && tokens > maxActiveTokens)
  }
}
