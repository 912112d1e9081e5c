import { describeError, ToolcribError } from '../errors.ts'
import type { Emit } from '../events.ts'
import { isRecord } from '../json.ts'
import type { Store, StoredValue } from '../store/store.ts'
import { isTooLate, type Schedule, waitAtMost, within } from '../time.ts'

/** How long to wait for the store; what it has not confirmed by then is written with the next change. */
const PATIENCE_MS = 2_000
/** Delays between attempts after a failure, when no change causes the next one; the last delay repeats. */
const RETRY_MS = [1_000, 2_000, 5_000]
/** Retries by a timer do not add to more pending writes than this; each change may add one. */
const MAX_UNANSWERED = 2
/** How long closing waits for a store that did not respond last time. */
const LAST_PATIENCE_MS = 200
/** Unsaved changes beyond this are merged into one. */
const MAX_UNSAVED = 50
/** How many writers a stored value remembers: far more than the replicas that write to one key at a time. */
const MAX_WRITERS = 16

/** A change of a value: pure, because a store may apply it again to a newer one. */
export type ChangeOf<Value> = (value: Value) => Value

/** How one kind of value is kept in a store. */
export interface Keeping<Value> {
  readonly key: string
  /** Names the value in errors. */
  readonly what: string
  /** Returns undefined for a stored value that may be replaced, and throws for a damaged one that may not. */
  read(stored: StoredValue): Value | undefined
  /** Returns the JSON for a value; undefined deletes the key. */
  write(value: Value, stored: StoredValue | undefined): object | undefined
  /** Applies the difference between two values to a third; without `from`, all of `to` is new. */
  merge(value: Value, difference: { readonly from?: Value; readonly to: Value }): Value
  /** Whether the store need not have the value. */
  isEmpty(value: Value): boolean
  /** Called when the value was replaced by the store's. */
  onMerge?(now: Value, past: Past<Value>): void
}

/** What a merged value was before. */
export interface Past<Value> {
  readonly local: Value
  /** What the store had before this write; `known` is what it had last time. */
  readonly stored: Value
  readonly known: Value
}

/** Where a value is kept, and the timers. */
export interface StorePlace {
  readonly id: string
  /** Identifies this copy of the session among those that write to the same key; new each time it is opened. */
  readonly writer: string
  /** Absent: values are not kept. */
  readonly store?: Store | undefined
  readonly schedule: Schedule
  /** Timers that do not keep the process alive, for attempts in the background. */
  readonly background: Schedule
  readonly emit: Emit
}

/**
 * A value and its copy in a store that may hang or fail. A change takes effect here at once; the store applies the same
 * change to its own value, so that replicas keep each other's changes. Changes are numbered, and the stored value names
 * the newest one of each writer: an abandoned attempt that arrives after a newer one has no effect. Callers wait for at
 * most two seconds; after such a timeout they do not wait at all until the store responds. A failure is an event; what
 * the store lacks is written with the next change or by a timer.
 */
export class Persisted<Value> {
  readonly #keeping: Keeping<Value>
  readonly #place: StorePlace
  #value: Value
  /** The store's value when it last responded. */
  #stored: Value
  /** The number grows with each change of this writer. */
  #unsaved: readonly { readonly number: number; readonly change: ChangeOf<Value> }[] = []
  /** Whether one of them replaces whatever is stored. */
  #replaces = false
  #changes = 0
  /** The newest change that the store has written. */
  #confirmed = 0
  /** The current attempt: it ends when the store has responded, or after the time limit. */
  #attempt: Promise<void> | undefined
  /** True after an attempt without a response, until the store responds. */
  #isStuck = false
  #attempts = 0
  #newestAnswered = 0
  #unanswered = 0
  #retries = 0
  #stopRetry: (() => void) | undefined
  #isClosed = false
  /** Why the last attempt failed. */
  #failure: { readonly error: unknown } | undefined

  constructor(value: Value, keeping: Keeping<Value>, place: StorePlace) {
    this.#value = value
    this.#stored = value
    this.#keeping = keeping
    this.#place = place
  }

  get value(): Value {
    return this.#value
  }

  /** Whether there is a store. */
  get isKept(): boolean {
    return this.#place.store !== undefined
  }

  /** Whether there are changes that the store has not confirmed. */
  get isDue(): boolean {
    return this.#unsaved.length > 0
  }

  apply(change: ChangeOf<Value>): void {
    this.#value = change(this.#value)
    this.#add(change)
  }

  /** Replaces what the store has with the value as it is here. */
  replace(): void {
    const value = this.#value
    this.#replaces = true
    this.#add(() => value)
  }

  /** Writes what is unsaved, and waits for a limited time. Never rejects: a failure is an event. */
  async save(): Promise<void> {
    if (!this.isDue) return
    const attempt = this.#attempt ?? this.#try()
    if (!this.#isStuck) await attempt
    // Changes made while the attempt was under way.
    if (!this.#failure) await this.save()
  }

  /** Applies what others have written since. What the store has lost is written again. Never rejects. */
  async refresh(): Promise<void> {
    const { store, writer, schedule } = this.#place
    if (store === undefined || this.#isStuck) return
    if (this.isDue) return this.save()
    const attempts = this.#attempts
    const loaded = await readInTime(() => store.get(this.#keeping.key), schedule)
      .then((value) => ({ value: this.#read(value), writers: readWriters(value) }))
      .catch(() => undefined)
    // A write made meanwhile may have returned a newer value.
    if (loaded === undefined || attempts !== this.#attempts) return
    const { value, writers } = loaded
    if (value !== undefined && !hasLost(writers, writer, this.#confirmed)) return this.#adopt(value, value)
    if (this.#keeping.isEmpty(this.#value)) return
    this.#add((same) => same)
    await this.save()
  }

  /** Writes everything, or throws `store-unavailable`. */
  async close(): Promise<void> {
    const patienceMs = this.#isStuck ? LAST_PATIENCE_MS : PATIENCE_MS
    const finish = async () => {
      await this.#attempt
      // It may have changed while an older value was written.
      if (this.isDue) await this.#try()
    }
    if (this.#attempt || this.isDue) await waitAtMost(patienceMs, [finish()], this.#place.schedule)
    this.#isClosed = true
    this.#stopRetry?.()
    if (!this.isDue) return
    throw new ToolcribError('store-unavailable', `${this.#keeping.what} could not be saved`, {
      cause: this.#failure?.error,
    })
  }

  #add(change: ChangeOf<Value>): void {
    if (!this.isKept) return
    const number = ++this.#changes
    this.#unsaved = [...this.#unsaved, { number, change }]
    if (this.#unsaved.length <= MAX_UNSAVED) return
    // A long outage of the store must not cost memory.
    const [from, to, replaces] = [this.#stored, this.#value, this.#replaces]
    const merged = (value: Value) => (replaces ? to : this.#keeping.merge(value, { from, to }))
    this.#unsaved = [{ number, change: merged }]
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
    this.#stopRetry = this.#place.background(delayMs, () => {
      this.#stopRetry = undefined
      if (!this.isDue || this.#attempt) return
      if (this.#unanswered < MAX_UNANSWERED) void this.#try({ isRetry: true })
      else this.#retryLater()
    })
  }

  /** A write without a response in time is abandoned: the next change makes another attempt, with all that is due. */
  async #writeInTime(isRetry: boolean): Promise<void> {
    let isAnswered = false
    const writing = this.#answered(isRetry).then(() => {
      isAnswered = true
    })
    await waitAtMost(PATIENCE_MS, [writing], this.#place.schedule)
    if (isAnswered) return
    this.#fail(noAnswer(), isRetry || this.#isStuck)
    this.#isStuck = true
  }

  async #answered(isRetry: boolean): Promise<void> {
    const number = ++this.#attempts
    this.#unanswered++
    try {
      await this.#write(number)
      this.#failure = undefined
    } catch (error) {
      this.#fail(error, isRetry)
    }
    this.#unanswered--
    this.#newestAnswered = Math.max(number, this.#newestAnswered)
    this.#isStuck = false
  }

  /** The failure of a retry by a timer was already reported. */
  #fail(error: unknown, isReported: boolean): void {
    this.#failure = { error }
    const { id, emit } = this.#place
    if (!isReported) emit({ type: 'save-failed', sessionId: id, error: describeFailure(error) })
  }

  async #write(number: number): Promise<void> {
    const { store, writer } = this.#place
    if (store === undefined) return
    const { key, write, merge } = this.#keeping
    const [changes, local, known] = [this.#unsaved, this.#value, this.#stored]
    const [newest, confirmed] = [this.#changes, this.#confirmed]
    let before = known
    const result = await store.update(key, (current) => {
      const writers = readWriters(current)
      const fresh = changes.filter((unsaved) => unsaved.number > (writers.get(writer) ?? 0))
      // An attempt that arrives late: a newer one has written all of this.
      if (current !== undefined && fresh.length === 0) return current
      const saved = this.#read(current)
      before = saved ?? known
      // What the store lost, while others have written since, is added again.
      const base =
        saved !== undefined && hasLost(writers, writer, confirmed) ? merge(known, { to: saved }) : saved
      // A first save writes the local value; later ones change the stored one.
      const value = base === undefined ? local : fresh.reduce<Value>((each, { change }) => change(each), base)
      if (value === saved && current !== undefined) return current
      const json = write(value, current)
      // JSON by construction, but its type has optional fields, which JSON does not.
      return (
        json && ({ ...json, writers: [...withWriter(writers, writer, newest)] } as unknown as StoredValue)
      )
    })
    this.#unsaved = this.#unsaved.filter((unsaved) => unsaved.number > newest)
    if (!this.isDue) this.#replaces = false
    this.#confirmed = Math.max(this.#confirmed, readWriters(result).get(writer) ?? 0)
    // The outcome of an attempt that comes after that of a newer one is out of date.
    if (number > this.#newestAnswered) this.#adopt(this.#read(result) ?? local, before)
  }

  #read(stored: StoredValue | undefined): Value | undefined {
    return stored === undefined ? undefined : this.#keeping.read(stored)
  }

  /** Applies the store's value, with the unsaved changes on top. */
  #adopt(now: Value, stored: Value): void {
    const past = { local: this.#value, stored, known: this.#stored }
    this.#stored = now
    this.#value = this.#unsaved.reduce((value, { change }) => change(value), now)
    this.#keeping.onMerge?.(this.#value, past)
  }
}

/** Reads from a store, and rejects when it fails or does not respond in time. */
export async function readInTime<Value>(read: () => Promise<Value>, schedule: Schedule): Promise<Value> {
  try {
    return await within(PATIENCE_MS, Promise.resolve().then(read), schedule)
  } catch (error) {
    throw isTooLate(error) ? noAnswer() : error
  }
}

/** Says why a store failed, with the cause it names. */
export function describeFailure(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? `: ${describeError(error.cause)}` : ''
  return `${describeError(error)}${cause}`
}

function noAnswer(): Error {
  return new Error(`the store did not answer within ${PATIENCE_MS} ms`)
}

/** The number of the newest change of each writer in a stored value, the most recent writer last. */
type Writers = ReadonlyMap<string, number>

function readWriters(stored: StoredValue | undefined): Writers {
  const writers: unknown[] = isRecord(stored) && Array.isArray(stored.writers) ? stored.writers : []
  return new Map(writers.filter((pair): pair is [string, number] => Array.isArray(pair) && pair[1] >= 0))
}

function withWriter(writers: Writers, writer: string, number: number): Writers {
  const others = [...writers].filter(([name]) => name !== writer)
  return new Map([...others.slice(1 - MAX_WRITERS), [writer, number]])
}

/** Whether a stored value lacks a change that the store had confirmed: it lost its data, or went back to older ones. */
function hasLost(writers: Writers, writer: string, confirmed: number): boolean {
  const number = writers.get(writer)
  // One that others have pushed out may have lost nothing.
  return number === undefined ? confirmed > 0 && writers.size < MAX_WRITERS : number < confirmed
}
