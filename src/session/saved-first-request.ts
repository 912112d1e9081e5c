import { describeError, ToolcribError } from '../errors.ts'
import type { Store, StoredValue } from '../store/store.ts'
import { waitAtMost } from '../time.ts'
import { FirstRequest } from './first-request.ts'
import type { Saving } from './saved-activations.ts'
import { idOfSent, mergeSent, readSent, type SentRequest } from './sent-request.ts'
import type { SessionViewpoint } from './session-viewpoint.ts'
import { readWriters, sessionKey, withWriter } from './state.ts'

/** Where a first request is saved. */
type Place = Pick<Saving, 'id' | 'writer' | 'store' | 'schedule' | 'background' | 'emit'>

/** How long to wait for the store; what it has not confirmed by then is written with the next turn or by a timer. */
const PATIENCE_MS = 2_000
/** Delays between attempts after a failure, when no turn causes the next one; the last delay repeats. */
const RETRY_MS = [1_000, 2_000, 5_000]
/** The maximum number of writes pending on a hanging store; retries do not add more. */
const MAX_UNANSWERED = 2
/** How long closing waits for a store that did not respond last time. */
const LAST_PATIENCE_MS = 200

/**
 * The copy of a session's first request in a store. It has a key of its own: it may hold thousands of definitions, and
 * changes far less often than what is checked out. Of the replicas of a session, the first to write decides the bytes;
 * the others take them over and add their late tools. A store that hangs or fails delays a call once and breaks nothing.
 * Writes are numbered, as those of activations are: an abandoned one that arrives after a newer one has no effect.
 */
export class SavedFirstRequest {
  readonly #viewpoint: Pick<SessionViewpoint, 'first' | 'begin'>
  /** The id of the session's settings; undefined without a dialect. */
  readonly #settings: string | undefined
  readonly #place: Place
  #saved: { readonly first: FirstRequest; readonly changes: number } | undefined
  /** What the store had when it last responded. */
  #stored: SentRequest | undefined
  /** True until what the store has was replaced, because the host passed a state. */
  #replaces = false
  /** The current attempt: it ends when the store has responded, or after the time limit. */
  #attempt: Promise<void> | undefined
  /** True after an attempt without a response, until the store responds: meanwhile nothing waits for it. */
  #isStuck = false
  #writes = 0
  /** The newest write with a known outcome: the late response to an older one is ignored. */
  #newestAnswered = 0
  #unanswered = 0
  #retries = 0
  #stopRetry: (() => void) | undefined
  #isClosed = false
  #failure: { readonly error: unknown } | undefined

  constructor(
    viewpoint: Pick<SessionViewpoint, 'first' | 'begin'>,
    settings: string | undefined,
    place: Place,
  ) {
    this.#viewpoint = viewpoint
    this.#settings = settings
    this.#place = place
  }

  /** Makes the session's requests begin with what the store has, unless its settings are others now. */
  continueFrom(stored: SentRequest): void {
    const first = this.#begin(stored)
    this.#stored = stored
    if (first) this.#saved = { first, changes: first.changes }
  }

  /** Makes the session's requests begin with what the host passed, or with a new first request, whatever the store has. */
  replaceSaved(sent: SentRequest | undefined): void {
    this.#replaces = true
    if (sent) this.#begin(sent)
  }

  /** Takes over what other processes wrote since. What the store has lost is written again. Never rejects. */
  async refresh(): Promise<void> {
    if (this.#settings === undefined || this.#isStuck) return
    if (this.isDue) return this.save()
    const writes = this.#writes
    const loaded = await load(this.#place)
    // A write made meanwhile may have returned a newer state.
    if (loaded === undefined || writes !== this.#writes || this.isDue) return
    const { first } = this.#viewpoint
    if (loaded.sent) return this.#adopt(loaded.sent, first, first?.toJSON())
    this.#saved = undefined
    await this.save()
  }

  /** Whether the store lacks something. */
  get isDue(): boolean {
    const { first } = this.#viewpoint
    if (this.#place.store === undefined) return false
    return first ? !this.#has(first) : this.#replaces
  }

  /** Writes what has changed, and waits for a limited time. Never rejects: a failure is an event. */
  async save(): Promise<void> {
    if (!this.isDue) return
    const attempt = this.#attempt ?? this.#try()
    if (!this.#isStuck) await attempt
  }

  /** Writes what has changed, or throws `store-unavailable`. */
  async close(): Promise<void> {
    const patienceMs = this.#isStuck ? LAST_PATIENCE_MS : PATIENCE_MS
    if (this.#attempt || this.isDue) await waitAtMost(patienceMs, [this.#finish()], this.#place.schedule)
    this.#isClosed = true
    this.#stopRetry?.()
    if (!this.isDue) return
    throw new ToolcribError(
      'store-unavailable',
      `the first request of the session "${this.#place.id}" could not be saved`,
      { cause: this.#failure?.error },
    )
  }

  async #finish(): Promise<void> {
    await this.#attempt
    // It may have changed while an older state of it was written.
    if (this.isDue) await this.#try()
  }

  #begin(sent: SentRequest): FirstRequest | undefined {
    const first = new FirstRequest(sent)
    if (!first.fits(this.#settings)) return undefined
    this.#viewpoint.begin(first)
    return first
  }

  #has(first: FirstRequest): boolean {
    return !this.#replaces && this.#saved?.first === first && this.#saved.changes === first.changes
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

  async #writeInTime(isRetry: boolean): Promise<void> {
    let isAnswered = false
    const writing = this.#write(isRetry).then(() => {
      isAnswered = true
    })
    await waitAtMost(PATIENCE_MS, [writing], this.#place.schedule)
    if (isAnswered) return
    const error = new Error(`the store did not answer within ${PATIENCE_MS} ms`)
    this.#failure = { error }
    if (!this.#isStuck && !isRetry) this.#emitFailure(error)
    this.#isStuck = true
  }

  async #write(isRetry: boolean): Promise<void> {
    const { id, store } = this.#place
    const { first } = this.#viewpoint
    const changes = first?.changes ?? 0
    const sent = first?.toJSON()
    const write = ++this.#writes
    this.#unanswered++
    try {
      // A store that throws instead of rejecting must not end this before anyone waits for it.
      await Promise.resolve()
      const change = this.#changeTo(sent, write)
      const stored = sentIn(await store?.update(sentKey(id), change))
      if (write > this.#newestAnswered) {
        this.#replaces = false
        if (first) this.#saved = { first, changes }
        this.#adopt(stored, first, sent)
      }
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

  /** Returns what a store is to make of its value: pure, because the store may apply it again to a newer one. */
  #changeTo(
    sent: SentRequest | undefined,
    write: number,
  ): (current: StoredValue | undefined) => StoredValue | undefined {
    const { writer } = this.#place
    const before = this.#stored
    const replaces = this.#replaces
    return (current) => {
      const writers = readWriters(current)
      // An attempt that arrives late: a newer one has written all of this.
      if ((writers.get(writer) ?? 0) > write) return current
      if (sent === undefined) return undefined
      const stored = sentIn(current)
      const isSame = stored !== undefined && idOfSent(stored) === idOfSent(sent)
      // Another one that this session has not seen comes from another replica, whose requests have begun with it.
      const isOthers =
        stored?.settings === sent.settings && !(before && idOfSent(before) === idOfSent(stored))
      const keeps = stored !== undefined && !replaces && (isSame || isOthers)
      const from = before && idOfSent(before) === idOfSent(sent) ? before : undefined
      if (keeps && !isSame) return current
      const merged = keeps ? mergeSent(stored, { from, to: sent }) : sent
      // JSON by construction; its types have optional fields, which JSON has not.
      return { ...merged, writers: [...withWriter(writers, writer, write)] } as unknown as StoredValue
    }
  }

  /** Applies the store's state. `first` and `sent` are the first request here when the store was asked. */
  #adopt(
    stored: SentRequest | undefined,
    first: FirstRequest | undefined,
    sent: SentRequest | undefined,
  ): void {
    this.#stored = stored
    if (stored === undefined || this.#viewpoint.first !== first) return
    if (first && sent && idOfSent(stored) === idOfSent(sent))
      // With what changed here since the store was asked.
      first.adopt(mergeSent(stored, { from: sent, to: first.toJSON() }))
    else this.continueFrom(stored)
  }

  #emitFailure(error: unknown): void {
    const { id, emit } = this.#place
    emit({ type: 'save-failed', sessionId: id, error: describeError(error) })
  }
}

/**
 * Loads what a session sent. A store that hangs or fails, or a damaged value, is an event: the session makes a new first
 * request.
 */
export async function loadSent(
  place: Omit<Place, 'writer' | 'background'>,
): Promise<SentRequest | undefined> {
  return (await load(place))?.sent
}

/** Reads the first request of a state that the host passed. A damaged one is an event, like a damaged one in a store. */
export function givenSent(
  { firstRequest }: { readonly firstRequest?: unknown },
  { id, emit }: Pick<Place, 'id' | 'emit'>,
): SentRequest | undefined {
  try {
    return firstRequest === undefined ? undefined : readSent(firstRequest)
  } catch (error) {
    emit({ type: 'load-failed', sessionId: id, error: describeError(error) })
    return undefined
  }
}

/** Returns undefined for a store that hangs or fails, and for a damaged value. */
async function load({
  id,
  store,
  schedule,
  emit,
}: Omit<Place, 'writer' | 'background'>): Promise<{ readonly sent: SentRequest | undefined } | undefined> {
  if (store === undefined) return undefined
  let loaded: { readonly sent: SentRequest | undefined } | undefined
  let error: unknown = new Error(`the store did not answer within ${PATIENCE_MS} ms`)
  const loading = Promise.resolve()
    .then(() => store.get(sentKey(id)))
    .then((value) => {
      loaded = { sent: value === undefined ? undefined : readSent(value) }
    })
    .catch((thrown: unknown) => {
      error = thrown
    })
  await waitAtMost(PATIENCE_MS, [loading], schedule)
  if (loaded === undefined) emit({ type: 'load-failed', sessionId: id, error: describeError(error) })
  return loaded
}

/**
 * Deletes everything that a store has of a session: a session that is opened with this id later starts empty. Close the
 * session first, because an open one is saved again with its next change.
 */
export async function deleteSession(store: Store, id: string): Promise<void> {
  await Promise.all([store.delete(sessionKey(id)), store.delete(sentKey(id))])
}

/** What a stored value holds; undefined when that cannot be used. */
function sentIn(value: StoredValue | undefined): SentRequest | undefined {
  try {
    return value === undefined ? undefined : readSent(value)
  } catch {
    return undefined
  }
}

/** Shorter than the key of the session itself, which bounds the length of its id. */
function sentKey(id: string): string {
  return `sent:${id}`
}
