import { isRecord } from '../json.ts'
import type { Change, Store, StoredValue } from '../store/store.ts'
import { FirstRequest } from './first-request.ts'
import { describeFailure, type Kept, PatientWrites, readInTime } from './patient-writes.ts'
import type { Saving } from './saved-activations.ts'
import { idOfSent, mergeSent, readSent, type SentRequest } from './sent-request.ts'
import type { SessionViewpoint } from './session-viewpoint.ts'
import { readWriters, sessionKey, withWriter } from './state.ts'

/** Where a first request is saved. */
type Place = Pick<Saving, 'id' | 'writer' | 'store' | 'schedule' | 'background' | 'emit'>

/**
 * The copy of a session's first request in a store. It has a key of its own, because it may hold thousands of definitions
 * that never change; what came since has another. Of the replicas of a session, the first to write decides the bytes;
 * the others take them over and add their late tools. Writes are numbered, as those of activations are: an abandoned one
 * that arrives after a newer one has no effect.
 */
export class SavedFirstRequest implements Kept {
  readonly #viewpoint: Pick<SessionViewpoint, 'first' | 'begin'>
  /** The id of the session's settings; undefined without a dialect. */
  readonly #settings: string | undefined
  readonly #place: Place
  #saved: { readonly first: FirstRequest; readonly changes: number } | undefined
  /** What the store had when it last responded. */
  #stored: SentRequest | undefined
  /** True until what the store has was replaced, because the host passed a state. */
  #replaces = false
  readonly #writes: PatientWrites

  constructor(
    viewpoint: Pick<SessionViewpoint, 'first' | 'begin'>,
    settings: string | undefined,
    place: Place,
  ) {
    this.#viewpoint = viewpoint
    this.#settings = settings
    this.#place = place
    this.#writes = new PatientWrites(this, place)
  }

  /** Records the stored first request. The session's requests begin with it, if it fits. */
  noteStored(stored: SentRequest): void {
    const { first } = this.#viewpoint
    this.#stored = stored
    if (first) this.#saved = { first, changes: first.changes }
  }

  /** Replaces what the store has with the first request as it is here, or with the next one. */
  replaceSaved(): void {
    this.#replaces = true
  }

  /** Applies what other processes wrote since. What the store has lost is written again. Never rejects. */
  async refresh(): Promise<void> {
    if (this.#settings === undefined || this.#writes.isStuck) return
    if (this.isDue) return this.save()
    const writes = this.#writes.count
    const loaded = await load(this.#place)
    // A write made meanwhile may have returned a newer state.
    if (loaded === undefined || writes !== this.#writes.count || this.isDue) return
    const { first } = this.#viewpoint
    if (loaded.sent) return this.#adopt(loaded.sent, first, first?.toJSON())
    this.#saved = undefined
    this.#stored = undefined
    await this.save()
  }

  /** Whether the store lacks something. */
  get isDue(): boolean {
    const { first } = this.#viewpoint
    return first ? !this.#has(first) : this.#replaces
  }

  /** Writes what has changed, and waits for a limited time. Never rejects: a failure is an event. */
  save(): Promise<void> {
    return this.#writes.save()
  }

  /** Writes what has changed, or throws `store-unavailable`. */
  close(): Promise<void> {
    return this.#writes.close(`the first request of the session "${this.#place.id}"`)
  }

  #has(first: FirstRequest): boolean {
    return !this.#replaces && this.#saved?.first === first && this.#saved.changes === first.changes
  }

  /** Writes the first request and what came since. Called by `PatientWrites`. */
  async write(number: number): Promise<void> {
    const { first } = this.#viewpoint
    const changes = first?.changes ?? 0
    const sent = first?.toJSON()
    const stored = await this.#put(sent, number)
    if (!this.#writes.isNewest(number)) return
    this.#replaces = false
    if (first) this.#saved = { first, changes }
    this.#adopt(stored, first, sent)
  }

  /** Writes the bytes unless the store has them, and what came since. Returns what the store has then. */
  async #put(sent: SentRequest | undefined, write: number): Promise<SentRequest | undefined> {
    const { id, writer, store } = this.#place
    const before = this.#stored
    const replaces = this.#replaces
    const isKnown = !replaces && before && sent && idOfSent(before) === idOfSent(sent)
    const value = isKnown ? undefined : await store.update(sentKey(id), this.#bytes(sent, write))
    const base = isKnown ? before : sentIn(value)
    const isOwn = !isKnown && readWriters(value).get(writer) === write
    // What came since an earlier state of the same bytes.
    if (replaces) await store.delete(sinceKey(id))
    if (base === undefined || isOwn) return base
    const add = (isSure: boolean) => (current: StoredValue | undefined) => {
      const writers = readWriters(current)
      // An attempt that arrives late: a newer one has written all of this.
      if ((writers.get(writer) ?? 0) > write) return current
      if (sent === undefined || idOfSent(base) !== idOfSent(sent)) return current
      if (!isSure && isOfOther(current, base)) return current
      const from = isKnown ? before : undefined
      const { lateTools, servers, isWarned } = mergeSent(withSince(base, current), { from, to: sent })
      const merged = { of: idOfSent(base), lateTools, servers, isWarned }
      return { ...merged, writers: [...withWriter(writers, writer, write)] } as unknown as StoredValue
    }
    const since = await store.update(sinceKey(id), add(!isKnown))
    if (!isKnown || !isOfOther(since, base)) return withSince(base, since)
    // Another replica may have replaced the bytes.
    const newest = sentIn(await store.get(sentKey(id)))
    if (newest && idOfSent(newest) !== idOfSent(base)) return withSince(newest, since)
    return withSince(base, await store.update(sinceKey(id), add(true)))
  }

  /** Returns the change for the store to apply: pure, because the store may apply it again to a newer value. */
  #bytes(sent: SentRequest | undefined, write: number): Change {
    const { writer } = this.#place
    const before = this.#stored
    const replaces = this.#replaces
    return (current) => {
      const writers = readWriters(current)
      if ((writers.get(writer) ?? 0) > write) return current
      if (sent === undefined) return undefined
      const stored = sentIn(current)
      const isSame = stored !== undefined && idOfSent(stored) === idOfSent(sent)
      // Another one that this session has not seen comes from another replica, whose requests have begun with it.
      const isOthers =
        stored?.settings === sent.settings && !(before && idOfSent(before) === idOfSent(stored))
      if (!replaces && (isSame || isOthers)) return current
      // JSON by construction, but its type has optional fields, which JSON does not.
      return { ...sent, writers: [...withWriter(writers, writer, write)] } as unknown as StoredValue
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
    else if (stored.settings === this.#settings) this.#continueFrom(stored)
  }

  #continueFrom(stored: SentRequest): void {
    const first = new FirstRequest(stored)
    this.#viewpoint.begin(first)
    this.#saved = { first, changes: first.changes }
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
    emit({ type: 'load-failed', sessionId: id, error: describeFailure(error) })
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
  const read = () => Promise.all([store.get(sentKey(id)), store.get(sinceKey(id))])
  return readInTime(read, schedule)
    .then(([value, since]) => ({ sent: value === undefined ? undefined : withSince(readSent(value), since) }))
    .catch((error: unknown) => {
      emit({ type: 'load-failed', sessionId: id, error: describeFailure(error) })
      return undefined
    })
}

/**
 * Deletes everything that a store has of a session: a session that is opened with this id later starts empty. Close the
 * session first, because an open one is saved again with its next change.
 */
export async function deleteSession(store: Store, id: string): Promise<void> {
  await Promise.all([sessionKey(id), sentKey(id), sinceKey(id)].map((key) => store.delete(key)))
}

/** What a stored value holds; undefined when that cannot be used. */
function sentIn(value: StoredValue | undefined): SentRequest | undefined {
  try {
    return value === undefined ? undefined : readSent(value)
  } catch {
    return undefined
  }
}

/** Whether a value is what came since another first request. */
function isOfOther(since: StoredValue | undefined, base: SentRequest): boolean {
  return isRecord(since) && since.of !== idOfSent(base)
}

/** A first request with what came since, if that belongs to it and can be used. */
function withSince(base: SentRequest, since: StoredValue | undefined): SentRequest {
  if (!isRecord(since) || since.of !== idOfSent(base)) return base
  const { lateTools, servers, isWarned } = since
  return sentIn({ ...base, lateTools, servers, isWarned } as unknown as StoredValue) ?? base
}

/** This key and the next are shorter than that of the session itself, which bounds the length of its id. */
function sentKey(id: string): string {
  return `sent:${id}`
}

function sinceKey(id: string): string {
  return `since:${id}`
}
