import type { Emit } from '../events.ts'
import type { Store } from '../store/store.ts'
import {
  type Activation,
  type ActivationChange,
  type Activations,
  activate,
  type Batch,
  type Candidate,
  type Caps,
  deactivate,
  isLatestUse,
  preload,
  useOrActivate,
  withinCaps,
} from './activations.ts'
import {
  type ChangeActivations,
  type MergeListener,
  SavedActivations,
  type Saving,
} from './saved-activations.ts'
import type { SessionViewpoint } from './session-viewpoint.ts'

/** The outcome of checking tools out. */
export interface CheckoutReport {
  readonly activated: readonly string[]
  readonly evicted: readonly string[]
}

/**
 * What one session has checked out. Searches, calls, the host and other replicas change it. While calls run, what they
 * use and what a search among them finds is not evicted, and what was evicted is not activated again: the model reads
 * every answer after all calls have ended, and it must be true then.
 */
export class Checkout implements MergeListener {
  readonly #saved: SavedActivations | UnsavedActivations
  readonly #viewpoint: SessionViewpoint
  readonly #caps: Caps
  readonly #emit: Emit
  readonly #busy = new Set<string>()
  readonly #evictedNow = new Set<string>()
  #batches = 0
  #untold: string[] = []

  constructor(
    activations: Activations,
    viewpoint: SessionViewpoint,
    { store, ...place }: Omit<Saving, 'store'> & { readonly store: Store | undefined },
  ) {
    const { id, caps, emit } = place
    this.#saved = store
      ? new SavedActivations(activations, { ...place, store }, this)
      : new UnsavedActivations(activations)
    this.#viewpoint = viewpoint
    this.#caps = caps
    this.#emit = (event) => emit({ ...event, sessionId: id })
  }

  get state(): Activations {
    return this.#saved.state
  }

  has(name: string): boolean {
    return this.state.some((activation) => activation.name === name)
  }

  /** Begins a batch of calls. Returns the function that ends it. */
  beginBatch(): () => void {
    this.#batches++
    return () => {
      this.#batches--
      if (this.#batches > 0) return
      this.#busy.clear()
      this.#evictedNow.clear()
    }
  }

  /** Checks tools out, best first. */
  activate(candidates: readonly Candidate[]): CheckoutReport {
    const { activated, evicted } = this.#change('activated', activate, candidates)
    return { activated, evicted: evicted.map(({ name }) => name) }
  }

  /** Records calls as uses; a tool that is not active is checked out. */
  noteUses(candidates: readonly Candidate[]): void {
    if (candidates.length === 0) return
    for (const { name } of candidates) this.#busy.add(name)
    // Most calls repeat the last tool. Replicas still learn of each use.
    if (this.#saved instanceof UnsavedActivations && isLatestUse(this.state, candidates)) return
    const { evicted } = this.#change('auto-activated', useOrActivate, candidates)
    this.noteEvictions(evicted.map(({ name }) => name))
  }

  /** Evicts what is beyond the caps: they may have shrunk, or tools that had left may have returned. */
  fit(): void {
    const absent = this.#absent()
    const { evicted } = withinCaps(this.state, this.#caps, absent)
    if (evicted.length === 0) return
    this.#saved.apply((state) => withinCaps(state, this.#caps, absent).state)
    this.#reportEvicted(evicted)
  }

  /** Replaces what the store has with the state as it is here. */
  replaceSaved(): void {
    this.#saved.replace()
  }

  /** Checks tools out permanently: outside the cap, never evicted. */
  preload(candidates: readonly Candidate[]): void {
    this.#saved.apply((state) => preload(state, candidates))
    if (candidates.length > 0) this.#emit({ type: 'activated', ...totals(candidates) })
  }

  /** Gives tools back; returns the names that were active. */
  deactivate(names: readonly string[]): readonly string[] {
    const { gone } = deactivate(this.state, names)
    this.#saved.apply((state) => deactivate(state, names).state)
    if (gone.length > 0) this.#emit({ type: 'deactivated', ...totals(gone) })
    return gone.map(({ name }) => name)
  }

  /** Records evictions that no answer has named yet; the next search names them. */
  noteEvictions(names: readonly string[]): void {
    this.#untold.push(...names)
  }

  noteGoneElsewhere(gone: Activations): void {
    this.#reportEvicted(gone)
  }

  /** Returns, once, the evictions that no answer has named yet, without tools that are active again. */
  takeEvictions(): readonly string[] {
    const untold = new Set(this.#untold.filter((name) => !this.has(name)))
    this.#untold = []
    // Another search of the same batch must not bring back what this answer says is gone.
    if (this.#batches > 0) for (const name of untold) this.#evictedNow.add(name)
    return [...untold]
  }

  /** Waits for a limited time until the store has the state. Never rejects. */
  save(): Promise<void> {
    return this.#saved.save()
  }

  /** Applies what other replicas changed. Never rejects. */
  refresh(): Promise<void> {
    return this.#saved.refresh()
  }

  /** Writes everything, or throws `store-unavailable`. */
  close(): Promise<void> {
    return this.#saved.close()
  }

  #change(
    type: 'activated' | 'auto-activated',
    change: (state: Activations, batch: Batch, caps: Caps) => ActivationChange,
    candidates: readonly Candidate[],
  ): ActivationChange {
    const before = this.state
    const batch: Batch = {
      candidates: candidates.filter(({ name }) => !this.#evictedNow.has(name)),
      keep: new Set(this.#busy),
      absent: this.#absent(),
    }
    const changed = change(before, batch, this.#caps)
    const { activated, evicted } = changed
    // The store applies it again, to a state of its own.
    this.#saved.apply((state) => (state === before ? changed : change(state, batch, this.#caps)).state)
    if (activated.length === 0 && evicted.length === 0) return changed
    if (this.#batches > 0) {
      for (const name of activated) this.#busy.add(name)
      for (const { name } of evicted) this.#evictedNow.add(name)
    }
    const wasActive = new Set(before.map(({ name }) => name))
    const fresh = candidates.filter(({ name }) => activated.includes(name) && !wasActive.has(name))
    if (fresh.length > 0) this.#emit({ type, ...totals(fresh) })
    if (evicted.length > 0) this.#emit({ type: 'evicted', ...totals(evicted) })
    return changed
  }

  #reportEvicted(evicted: Activations): void {
    this.noteEvictions(evicted.map(({ name }) => name))
    this.#emit({ type: 'evicted', ...totals(evicted) })
  }

  /** Active tools that no longer exist: they do not count against the caps. */
  #absent(): ReadonlySet<string> {
    const { deferred } = this.#viewpoint.current()
    return new Set(this.state.map(({ name }) => name).filter((name) => !deferred.has(name)))
  }
}

/** The activations of a session without a store. */
class UnsavedActivations implements Omit<SavedActivations, 'isDue' | 'write'> {
  state: Activations

  constructor(state: Activations) {
    this.state = state
  }

  apply(change: ChangeActivations): void {
    this.state = change(this.state)
  }

  replace(): void {}

  async save(): Promise<void> {}

  async refresh(): Promise<void> {}

  async close(): Promise<void> {}
}

/** Names and tokens of tools, as events carry them. */
function totals(tools: readonly Pick<Activation, 'name' | 'tokens'>[]) {
  return { names: tools.map(({ name }) => name), tokens: tools.reduce((sum, { tokens }) => sum + tokens, 0) }
}
