import type { Store } from '../store/store.ts'
import { type Activations, type Caps, merge } from './activations.ts'
import { describeFailure, type Kept, PatientWrites, readInTime, type WritePlace } from './patient-writes.ts'
import {
  hasLost,
  readSaved,
  readState,
  readWriters,
  type SessionState,
  sessionKey,
  withWriter,
  writeSaved,
  writeState,
} from './state.ts'

/** A change of activations: pure, because a store may apply it again to a newer state. */
export type ChangeActivations = (state: Activations) => Activations

/** Where a session is saved, and how long anyone waits for it. */
export interface Saving extends WritePlace {
  /** Identifies this copy of the session among those that write to the same key; new each time it is opened. */
  readonly writer: string
  readonly allowlists: readonly (readonly string[])[]
  readonly store: Store
  readonly caps: Caps
}

/** Receives the changes that others made to the session. Implemented by `Checkout`. */
export interface MergeListener {
  /** Called when tools that were active here are not any more, because another replica evicted them or gave them back. */
  noteGoneElsewhere(gone: Activations): void
}

/** Unsaved changes beyond this are merged into one. */
const MAX_UNSAVED = 50

interface UnsavedChange {
  /** Grows with each change of this writer. */
  readonly number: number
  /** True when it replaces whatever is stored. */
  readonly isReplacement: boolean
  readonly change: ChangeActivations
  /** What it removed here. */
  readonly gone: Activations
}

/**
 * The activations of one session, and their copy in a store. A change takes effect here at once; the store applies the
 * same change to its own state, so that replicas keep each other's changes. Changes are numbered, and the
 * stored state names the newest one of each writer: an abandoned attempt that arrives after a newer one has no
 * effect.
 */
export class SavedActivations implements Kept {
  readonly #saving: Saving
  readonly #listener: MergeListener
  #state: Activations
  /** The store's state when it last responded. */
  #stored: Activations
  #unsaved: readonly UnsavedChange[] = []
  #changes = 0
  /** The newest change that the store has confirmed. */
  #confirmed = 0
  readonly #writes: PatientWrites

  constructor(state: Activations, saving: Saving, listener: MergeListener) {
    this.#state = state
    this.#stored = state
    this.#saving = saving
    this.#listener = listener
    this.#writes = new PatientWrites(this, saving)
  }

  get state(): Activations {
    return this.#state
  }

  apply(change: ChangeActivations): void {
    const before = this.#state
    this.#state = change(before)
    this.#add(change, false, missingIn(this.#state, before))
  }

  /** Replaces what the store has with the state as it is here. */
  replace(): void {
    const state = this.#state
    this.#add(() => state, true)
  }

  /** Whether there are changes that the store has not confirmed. */
  get isDue(): boolean {
    return this.#unsaved.length > 0
  }

  /** Writes what is unsaved, and waits for a limited time. Never rejects: a failure is reported as an event. */
  async save(): Promise<void> {
    await this.#writes.save()
    // Changes made while the first attempt was under way.
    if (!this.#writes.hasFailed && this.isDue) await this.save()
  }

  /**
   * Applies what other replicas have written since, waiting for a limited time. What the store has lost is written again.
   * Never rejects.
   */
  async refresh(): Promise<void> {
    const { id, writer, store, schedule } = this.#saving
    if (this.#writes.isStuck) return
    const writes = this.#writes.count
    const loaded = await readInTime(() => store.get(sessionKey(id)), schedule)
      .then((value) => ({ saved: readSaved(value), writers: readWriters(value) }))
      .catch(() => undefined)
    // A write made meanwhile may have returned a newer state.
    if (loaded === undefined || writes !== this.#writes.count) return
    const { saved, writers } = loaded
    if (saved && !hasLost(writers, writer, this.#confirmed)) return this.#adopt(saved.activations)
    if (this.#state.length === 0) return
    this.#add((state) => state, false)
    await this.save()
  }

  /** Writes everything, or throws `store-unavailable`. */
  close(): Promise<void> {
    return this.#writes.close(`the session "${this.#saving.id}"`)
  }

  #add(change: ChangeActivations, isReplacement: boolean, gone: Activations = []): void {
    this.#unsaved = [...this.#unsaved, { number: ++this.#changes, isReplacement, change, gone }]
    if (this.#unsaved.length > MAX_UNSAVED) this.#unsaved = [this.#merged()]
  }

  /** Merges all unsaved changes into one, so that a long outage of the store costs no memory. */
  #merged(): UnsavedChange {
    const isReplacement = this.#unsaved.some((unsaved) => unsaved.isReplacement)
    const { caps } = this.#saving
    const from = this.#stored
    const to = this.#state
    const change: ChangeActivations = isReplacement ? () => to : (state) => merge(state, { from, to }, caps)
    return { number: this.#changes, isReplacement, change, gone: missingIn(to, from) }
  }

  /** Writes the unsaved changes. Called by `PatientWrites`. */
  async write(number: number): Promise<void> {
    const { id, writer, allowlists, store, caps } = this.#saving
    const changes = this.#unsaved
    let evicted: Activations = []
    const localState = this.#state
    const newest = this.#changes
    const [confirmed, lastStored] = [this.#confirmed, this.#stored]
    const restored = (state: Activations) =>
      merge(state, { from: [], to: missingIn(state, lastStored) }, caps)
    const stored = await store.update(sessionKey(id), (current) => {
      const saved = readSaved(current)
      const writers = readWriters(current)
      const fresh = changes.filter(({ number }) => number > (writers.get(writer) ?? 0))
      // An attempt that arrives late: a newer one has written all of this.
      if (saved && fresh.length === 0) return current
      // A first save writes the local state; later ones change the stored one.
      const state = saved
        ? fresh.reduce(
            (before, { change }) => change(before),
            // What the store lost, while others have written since, is added again.
            hasLost(writers, writer, confirmed) ? restored(saved.activations) : saved.activations,
          )
        : localState
      evicted = missingIn(state, saved?.activations ?? [])
      const limits = union(saved?.allowlists ?? [], allowlists)
      return writeSaved(writeState(id, state, limits), withWriter(writers, writer, newest))
    })
    this.#unsaved = this.#unsaved.filter(({ number }) => number > newest)
    this.#confirmed = Math.max(this.#confirmed, newest)
    const reported = new Set(changes.flatMap(({ gone }) => gone.map(({ name }) => name)))
    const unreported = evicted.filter(({ name }) => !reported.has(name))
    if (this.#writes.isNewest(number)) this.#adopt(readSaved(stored)?.activations ?? localState, unreported)
  }

  /**
   * Applies the store's current state, with the unsaved changes on top. `evicted` lists what was evicted there and may
   * be unknown here: another replica had checked it out for the same conversation.
   */
  #adopt(stored: Activations, evicted: Activations = []): void {
    const before = this.#state
    this.#stored = stored
    this.#state = this.#unsaved.reduce((state, { change }) => change(state), stored)
    const gone = [...missingIn(this.#state, before), ...missingIn(before, missingIn(this.#state, evicted))]
    if (gone.length > 0) this.#listener.noteGoneElsewhere(gone)
  }
}

/** What is in a state, but not in a later one. */
function missingIn(later: Activations, before: Activations): Activations {
  if (later === before) return []
  const names = new Set(later.map(({ name }) => name))
  return before.filter(({ name }) => !names.has(name))
}

/** Loads a saved session. A store that hangs or fails is reported as an event, and the session starts empty. */
export async function loadState({
  id,
  store,
  schedule,
  emit,
}: Pick<Saving, 'id' | 'store' | 'schedule' | 'emit'>): Promise<SessionState | undefined> {
  const value = await readInTime(() => store.get(sessionKey(id)), schedule).catch((error: unknown) => {
    emit({ type: 'load-failed', sessionId: id, error: describeFailure(error) })
    return undefined
  })
  return value === undefined ? undefined : readState(value)
}

/** Keeps the stored limits of a session: opening it without them, for example during an outage, must not drop them. */
function union(saved: Allowlists, own: Allowlists): Allowlists {
  const known = new Set(own.map((names) => JSON.stringify(names)))
  return [...own, ...saved.filter((names) => !known.has(JSON.stringify(names)))]
}

type Allowlists = readonly (readonly string[])[]
