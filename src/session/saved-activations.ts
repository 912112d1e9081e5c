import { describeError, ToolcribError } from '../errors.ts'
import type { Emit } from '../events.ts'
import type { Store, StoredValue } from '../store/store.ts'
import { type Schedule, waitAtMost } from '../time.ts'
import { type Activations, type Caps, merge } from './activations.ts'
import {
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
export interface Saving {
  readonly id: string
  /** Identifies this copy of the session among those that write to the same key; new each time it is opened. */
  readonly writer: string
  readonly allowlists: readonly (readonly string[])[]
  readonly store: Store | undefined
  readonly caps: Caps
  readonly schedule: Schedule
  /** Timers that do not keep the process alive, for attempts in the background. */
  readonly background: Schedule
  readonly emit: Emit
}

/** Receives the changes that others made to the session. Implemented by `Checkout`. */
export interface MergeListener {
  /** Called when tools that were active here are not any more, because another replica evicted them or gave them back. */
  noteGoneElsewhere(gone: Activations): void
}

/** How long to wait for the store; what it has not confirmed by then is written with the next change. */
const PATIENCE_MS = 2_000
/** Delays between attempts after a failure, when no change causes the next one; the last delay repeats. */
const RETRY_MS = [1_000, 2_000, 5_000]
/** The maximum number of writes pending on a hanging store; retries do not add more. */
const MAX_UNANSWERED = 2
/** How long closing waits for a store that did not respond last time. */
const LAST_PATIENCE_MS = 200
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
 * same change to its own state, so that replicas keep each other's changes. A store that hangs or fails delays and
 * breaks nothing: the changes wait for the next attempt, made by the next change or by a timer. Changes are numbered, and the
 * stored state names the newest one of each writer: an abandoned attempt that arrives after a newer one has no
 * effect.
 */
export class SavedActivations {
  readonly #saving: Saving
  readonly #listener: MergeListener
  #state: Activations
  /** The store's state when it last responded. */
  #stored: Activations
  #unsaved: readonly UnsavedChange[] = []
  #changes = 0
  /** The current attempt: it ends when the store has responded, or after the time limit. */
  #attempt: Promise<void> | undefined
  /** True after an attempt without a response, until the store responds: meanwhile nothing waits for it. */
  #isStuck = false
  #writes = 0
  /** The newest write with a known outcome: the late response to an older one is ignored. */
  #newestAnswered = 0
  /** Why the last attempt failed. */
  #failure: { readonly error: unknown } | undefined
  #unanswered = 0
  #retries = 0
  #stopRetry: (() => void) | undefined
  #isClosed = false

  constructor(state: Activations, saving: Saving, listener: MergeListener) {
    this.#state = state
    this.#stored = state
    this.#saving = saving
    this.#listener = listener
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

  /** Writes what is unsaved, and waits for a limited time. Never rejects: a failure is reported as an event. */
  async save(): Promise<void> {
    if (this.#saving.store === undefined || this.#unsaved.length === 0) return
    const attempt = this.#attempt ?? this.#try()
    if (this.#isStuck) return
    await attempt
    // Changes made while the first attempt was under way.
    if (!this.#failure && this.#unsaved.length > 0) await this.save()
  }

  /**
   * Applies what other replicas have written since, waiting for a limited time. What the store has lost is written again.
   * Never rejects.
   */
  async refresh(): Promise<void> {
    const { id, store, schedule } = this.#saving
    if (store === undefined || this.#isStuck) return
    const writes = this.#writes
    let found: { readonly saved: SessionState | undefined } | undefined
    const load = async () => {
      found = { saved: readSaved(await store.get(sessionKey(id))) }
    }
    await waitAtMost(PATIENCE_MS, [load().catch(() => {})], schedule)
    // TypeScript does not see that the promise assigns it. A write made meanwhile may have returned a newer state.
    const loaded = found as { readonly saved: SessionState | undefined } | undefined
    if (loaded === undefined || writes !== this.#writes) return
    if (loaded.saved) return this.#adopt(loaded.saved.activations)
    if (this.#state.length === 0) return
    this.#add((state) => state, false)
    await this.save()
  }

  /** Writes everything, or throws `store-unavailable`. */
  async close(): Promise<void> {
    const patienceMs = this.#isStuck ? LAST_PATIENCE_MS : PATIENCE_MS
    await waitAtMost(patienceMs, [this.#finish()], this.#saving.schedule)
    this.#isClosed = true
    this.#stopRetry?.()
    if (this.#unsaved.length === 0) return
    throw new ToolcribError('store-unavailable', `the session "${this.#saving.id}" could not be saved`, {
      cause: this.#failure?.error,
    })
  }

  async #finish(): Promise<void> {
    await this.#attempt
    if (this.#unsaved.length > 0) await this.#try()
  }

  #add(change: ChangeActivations, isReplacement: boolean, gone: Activations = []): void {
    if (this.#saving.store === undefined) return
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

  #try({ isRetry = false } = {}): Promise<void> {
    const attempt = this.#writeInTime(isRetry).finally(() => {
      if (this.#attempt === attempt) this.#attempt = undefined
      if (this.#failure) this.#retryLater()
      else this.#retries = 0
    })
    this.#attempt = attempt
    return attempt
  }

  #retryLater(): void {
    if (this.#stopRetry || this.#isClosed) return
    const delayMs = RETRY_MS[Math.min(this.#retries++, RETRY_MS.length - 1)] ?? 0
    this.#stopRetry = this.#saving.background(delayMs, () => {
      this.#stopRetry = undefined
      if (this.#unsaved.length === 0 || this.#attempt) return
      if (this.#unanswered < MAX_UNANSWERED) void this.#try({ isRetry: true })
      else this.#retryLater()
    })
  }

  /** A write without a response in time is abandoned: the next change makes another attempt, with all changes. */
  async #writeInTime(isRetry: boolean): Promise<void> {
    let isAnswered = false
    const writing = this.#write(isRetry).then(() => {
      isAnswered = true
    })
    await waitAtMost(PATIENCE_MS, [writing], this.#saving.schedule)
    if (isAnswered) return
    const error = new Error(`the store did not answer within ${PATIENCE_MS} ms`)
    this.#failure = { error }
    if (!this.#isStuck && !isRetry) this.#emitFailure(error)
    this.#isStuck = true
  }

  async #write(isRetry: boolean): Promise<void> {
    const { id, writer, allowlists, store } = this.#saving
    const changes = this.#unsaved
    let evicted: Activations = []
    const localState = this.#state
    const newest = this.#changes
    const write = ++this.#writes
    this.#unanswered++
    try {
      const stored = await store?.update(sessionKey(id), (current) => {
        const saved = readSaved(current)
        const writers = readWriters(current)
        const fresh = changes.filter(({ number }) => number > (writers.get(writer) ?? 0))
        // An attempt that arrives late: a newer one has written all of this.
        if (saved && fresh.length === 0) return current
        // A first save writes what is here; later ones change what is there.
        const state = saved
          ? fresh.reduce((before, { change }) => change(before), saved.activations)
          : localState
        evicted = missingIn(state, saved?.activations ?? [])
        const limits = union(saved?.allowlists ?? [], allowlists)
        return writeSaved(writeState(id, state, limits), withWriter(writers, writer, newest))
      })
      this.#unsaved = this.#unsaved.filter(({ number }) => number > newest)
      const reported = new Set(changes.flatMap(({ gone }) => gone.map(({ name }) => name)))
      const unreported = evicted.filter(({ name }) => !reported.has(name))
      if (write > this.#newestAnswered) this.#adopt(readSaved(stored)?.activations ?? localState, unreported)
      this.#failure = undefined
    } catch (error) {
      this.#failure = { error }
      // The failure of a retry by a timer was already reported.
      if (!isRetry) this.#emitFailure(error)
    }
    this.#unanswered--
    this.#newestAnswered = Math.max(write, this.#newestAnswered)
    this.#isStuck = false
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

  #emitFailure(error: unknown): void {
    const { id, emit } = this.#saving
    emit({ type: 'save-failed', sessionId: id, error: describeFailure(error) })
  }
}

/** What is in a state, but not in a later one. */
function missingIn(later: Activations, before: Activations): Activations {
  if (later === before) return []
  const names = new Set(later.map(({ name }) => name))
  return before.filter(({ name }) => !names.has(name))
}

/** Loads a saved session. A store that hangs or fails is reported as an event, and the session starts empty. */
export async function loadState(
  id: string,
  { store, schedule, emit }: Pick<Saving, 'store' | 'schedule' | 'emit'>,
): Promise<SessionState | undefined> {
  if (store === undefined) return undefined
  const failed = (error: unknown) =>
    emit({ type: 'load-failed', sessionId: id, error: describeFailure(error) })
  let outcome: { readonly value: StoredValue | undefined } | { readonly error: unknown } | undefined
  const loading = Promise.resolve()
    .then(() => store.get(sessionKey(id)))
    .then(
      (value) => {
        outcome = { value }
      },
      (error: unknown) => {
        outcome = { error }
      },
    )
  await waitAtMost(PATIENCE_MS, [loading], schedule)
  // TypeScript does not see that the promise assigns it.
  const loaded = outcome as
    | { readonly value: StoredValue | undefined }
    | { readonly error: unknown }
    | undefined
  if (loaded === undefined) failed(new Error(`the store did not answer within ${PATIENCE_MS} ms`))
  else if ('error' in loaded) failed(loaded.error)
  else if (loaded.value !== undefined) return readState(loaded.value)
  return undefined
}

/** Keeps the stored limits of a session: opening it without them, for example during an outage, must not drop them. */
function union(saved: Allowlists, own: Allowlists): Allowlists {
  const known = new Set(own.map((names) => JSON.stringify(names)))
  return [...own, ...saved.filter((names) => !known.has(JSON.stringify(names)))]
}

type Allowlists = readonly (readonly string[])[]

function describeFailure(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? `: ${describeError(error.cause)}` : ''
  return `${describeError(error)}${cause}`
}
