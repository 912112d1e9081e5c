import type { Emit } from '../events.ts'
import type { View } from '../registry/view.ts'
import type { ToolDefinition } from '../tool.ts'
import {
  type Activation,
  type ActivationCandidate,
  type ActivationChange,
  type Activations,
  activate,
  type Batch,
  type Caps,
  deactivate,
  isLatestUse,
  preload,
  useOrActivate,
  withinCaps,
} from './activations.ts'
import type { Kept, Past } from './kept.ts'

/** What checking tools out changed, by name. */
export interface ActiveChange {
  readonly activated: readonly string[]
  readonly evicted: readonly string[]
}

/**
 * The tools that one session has checked out. Searches, calls, the host and other replicas change them. While calls run,
 * what they use and what a search among them finds is not evicted, and what was evicted is not activated again: the
 * model reads every answer after all calls have ended, and it must be true then.
 */
export class ActiveTools {
  readonly #kept: Kept<Activations>
  readonly #caps: Caps
  readonly #emit: Emit
  readonly #busy = new Set<string>()
  readonly #evictedNow = new Set<string>()
  /** By name: the changed definition that was reported last. */
  readonly #reportedChanges = new Map<string, string>()
  /** Definitions that answers and errors showed as a whole. A restored session shows them again where it has to. */
  readonly #seen = new WeakSet<ToolDefinition>()
  #batches = 0
  #untold: string[] = []

  constructor(kept: Kept<Activations>, caps: Caps, emit: Emit) {
    this.#kept = kept
    this.#caps = caps
    this.#emit = emit
  }

  get all(): Activations {
    return this.#kept.value
  }

  has(name: string): boolean {
    return this.all.some((activation) => activation.name === name)
  }

  /** Whether an answer of this session showed a definition as a whole. */
  hasSeen(definition: ToolDefinition): boolean {
    return this.#seen.has(definition)
  }

  /** Records that an answer shows these definitions as a whole. */
  noteSeen(definitions: readonly ToolDefinition[]): void {
    for (const definition of definitions) this.#seen.add(definition)
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
  activate(candidates: readonly ActivationCandidate[], view: View): ActiveChange {
    return this.#change('activated', activate, candidates, view)
  }

  /** Records calls as uses; a tool that is not active is checked out. */
  noteUses(candidates: readonly ActivationCandidate[], view: View): void {
    if (candidates.length === 0) return
    for (const { name } of candidates) this.#busy.add(name)
    // Most calls repeat the last tool. Replicas still learn of each use.
    if (!this.#kept.isKept && isLatestUse(this.all, candidates)) return
    this.noteEvictions(this.#change('auto-activated', useOrActivate, candidates, view).evicted)
  }

  /** Evicts what is beyond the caps: they may have shrunk, or tools that had left may have returned. */
  fit(view: View): void {
    const absent = this.#absent(view)
    const { evicted } = withinCaps(this.all, this.#caps, absent)
    if (evicted.length === 0) return
    this.#kept.apply((active) => withinCaps(active, this.#caps, absent).state)
    this.#report(evicted)
  }

  /** Checks tools out permanently: outside the cap, never evicted. */
  preload(candidates: readonly ActivationCandidate[]): void {
    this.#kept.apply((active) => preload(active, candidates))
    if (candidates.length > 0) this.#emit({ type: 'activated', ...totals(candidates) })
  }

  /** Gives tools back; returns the names that were active. */
  deactivate(names: readonly string[]): readonly string[] {
    const { gone } = deactivate(this.all, names)
    this.#kept.apply((active) => deactivate(active, names).state)
    if (gone.length > 0) this.#emit({ type: 'deactivated', ...totals(gone) })
    return gone.map(({ name }) => name)
  }

  /** Reports tools whose definition is not the one they were checked out with, once for each definition. */
  reportChanges(changed: readonly Pick<ActivationCandidate, 'name' | 'fingerprint'>[]): void {
    for (const { name, fingerprint } of changed) {
      if (this.#reportedChanges.get(name) === fingerprint) continue
      this.#reportedChanges.set(name, fingerprint)
      this.#emit({ type: 'definition-changed', name })
    }
  }

  /** Records evictions that no answer has named yet; the next search names them. */
  noteEvictions(names: readonly string[]): void {
    this.#untold.push(...names)
  }

  /** Reports what other replicas evicted or gave back, and what this one evicted there without having known of it. */
  noteMerge(now: Activations, { local, stored, known }: Past<Activations>): void {
    const unknown = missingIn(known, missingIn(local, stored))
    const gone = missingIn(now, [...local, ...unknown])
    if (gone.length > 0) this.#report(gone)
  }

  /** Returns, once, the evictions that no answer has named yet, without tools that are active again. */
  takeEvictions(): readonly string[] {
    const untold = new Set(this.#untold.filter((name) => !this.has(name)))
    this.#untold = []
    // Another search of the same batch must not bring back what this answer says is gone.
    if (this.#batches > 0) for (const name of untold) this.#evictedNow.add(name)
    return [...untold]
  }

  #change(
    type: 'activated' | 'auto-activated',
    change: (active: Activations, batch: Batch, caps: Caps) => ActivationChange,
    candidates: readonly ActivationCandidate[],
    view: View,
  ): ActiveChange {
    const before = this.all
    const batch: Batch = {
      candidates: candidates.filter(({ name }) => !this.#evictedNow.has(name)),
      keep: new Set(this.#busy),
      absent: this.#absent(view),
    }
    const changed = change(before, batch, this.#caps)
    const { activated, evicted } = changed
    // The store applies it again, to a state of its own.
    this.#kept.apply((active) => (active === before ? changed : change(active, batch, this.#caps)).state)
    if (this.#batches > 0) {
      for (const name of activated) this.#busy.add(name)
      for (const { name } of evicted) this.#evictedNow.add(name)
    }
    const wasActive = new Set(before.map(({ name }) => name))
    const fresh = candidates.filter(({ name }) => activated.includes(name) && !wasActive.has(name))
    if (fresh.length > 0) this.#emit({ type, ...totals(fresh) })
    if (evicted.length > 0) this.#emit({ type: 'evicted', ...totals(evicted) })
    return { activated, evicted: evicted.map(({ name }) => name) }
  }

  #report(evicted: Activations): void {
    this.noteEvictions(evicted.map(({ name }) => name))
    this.#emit({ type: 'evicted', ...totals(evicted) })
  }

  /** Active tools that no longer exist: they do not count against the caps. */
  #absent({ deferred }: View): ReadonlySet<string> {
    return new Set(this.all.map(({ name }) => name).filter((name) => !deferred.has(name)))
  }
}

/** What is in a state, but not in a later one. */
function missingIn(later: Activations, before: Activations): Activations {
  if (later === before) return []
  const names = new Set(later.map(({ name }) => name))
  return before.filter(({ name }) => !names.has(name))
}

/** Names and tokens of tools, as events carry them. */
function totals(tools: readonly Pick<Activation, 'name' | 'tokens'>[]) {
  return { names: tools.map(({ name }) => name), tokens: tools.reduce((sum, { tokens }) => sum + tokens, 0) }
}
