import { describeError, ToolcribError } from '../errors.ts'
import type { StoredValue } from '../store/store.ts'
import { waitAtMost } from '../time.ts'
import { FirstRequest, readSent, type SentRequest } from './first-request.ts'
import type { Saving } from './saved-activations.ts'
import type { SessionViewpoint } from './session-viewpoint.ts'
import type { SessionSettings } from './settings.ts'

/** Where a first request is saved. */
type Place = Pick<Saving, 'id' | 'store' | 'schedule' | 'emit'>

/** A store that has not answered by then is waited for no longer. */
const PATIENCE_MS = 2_000

/**
 * The copy of a session's first request in a store. It has a key of its own: it may hold thousands of definitions, and
 * changes far less often than what is checked out. A store that hangs or fails delays a call once and breaks nothing.
 */
export class SavedFirstRequest {
  readonly #viewpoint: Pick<SessionViewpoint, 'first' | 'begin'>
  readonly #settings: SessionSettings
  readonly #place: Place
  #saved: { readonly first: FirstRequest; readonly changes: number } | undefined
  #writing: Promise<void> | undefined
  /** True while nobody waits for a store that did not answer in time. */
  #isStuck = false
  #failure: unknown

  constructor(viewpoint: Pick<SessionViewpoint, 'first' | 'begin'>, settings: SessionSettings, place: Place) {
    this.#viewpoint = viewpoint
    this.#settings = settings
    this.#place = place
  }

  /** Makes the session's requests begin with what was sent, unless its settings are others now. */
  continueFrom(sent: SentRequest, { isStored }: { readonly isStored: boolean }): void {
    const first = new FirstRequest(sent)
    if (!first.fits(this.#settings)) return
    this.#viewpoint.begin(first)
    if (isStored) this.#saved = { first, changes: first.changes }
  }

  /** Takes over the first request that another process made, unless this one has made its own. Never rejects. */
  async refresh(): Promise<void> {
    const isNeeded = () => this.#viewpoint.first === undefined && this.#settings.dialect !== undefined
    const sent = isNeeded() ? await loadSent(this.#place) : undefined
    if (sent && isNeeded()) this.continueFrom(sent, { isStored: true })
  }

  /** Whether the store lacks something, and may take it. */
  get isDue(): boolean {
    const { first } = this.#viewpoint
    return this.#place.store !== undefined && first !== undefined && !this.#has(first) && !this.#isStuck
  }

  /** Writes what has changed, and waits for it a while. Never rejects: a failure is an event. */
  async save(): Promise<void> {
    const { schedule } = this.#place
    const { first } = this.#viewpoint
    if (first === undefined || !this.isDue) return
    const writing = this.#writing ?? this.#write(first)
    this.#writing = writing
    await waitAtMost(PATIENCE_MS, [writing], schedule)
    if (this.#writing !== writing || this.#isStuck) return
    this.#isStuck = true
    this.#fail(new Error(`the store did not answer within ${PATIENCE_MS} ms`))
  }

  /** Writes what has changed, or throws `store-unavailable`. */
  async close(): Promise<void> {
    const { first } = this.#viewpoint
    if (this.#place.store === undefined || first === undefined) return
    await this.save()
    // It may have changed while an older state of it was written.
    await this.save()
    if (this.#has(first)) return
    throw new ToolcribError(
      'store-unavailable',
      `the first request of the session "${this.#place.id}" could not be saved`,
      { cause: this.#failure },
    )
  }

  #has(first: FirstRequest): boolean {
    return this.#saved?.first === first && this.#saved.changes === first.changes
  }

  async #write(first: FirstRequest): Promise<void> {
    const { id, store } = this.#place
    const { changes } = first
    try {
      // A store that throws instead of rejecting must not end this before anyone waits for it.
      await Promise.resolve()
      // JSON by construction; its types have optional fields, which JSON has not.
      await store?.set(sentKey(id), first.toJSON() as unknown as StoredValue)
      this.#saved = { first, changes }
    } catch (error) {
      this.#fail(error)
    }
    this.#writing = undefined
    this.#isStuck = false
  }

  #fail(error: unknown): void {
    this.#failure = error
    const { id, emit } = this.#place
    emit({ type: 'save-failed', sessionId: id, error: describeError(error) })
  }
}

/**
 * Loads what a session sent. A store that hangs or fails, or a damaged value, is an event: the session makes a new first
 * request.
 */
export async function loadSent({ id, store, schedule, emit }: Place): Promise<SentRequest | undefined> {
  if (store === undefined) return undefined
  let sent: SentRequest | undefined
  let error: unknown = new Error(`the store did not answer within ${PATIENCE_MS} ms`)
  const load = async () => {
    const value = await store.get(sentKey(id))
    sent = value === undefined ? undefined : readSent(value)
    error = undefined
  }
  const loading = load().catch((thrown: unknown) => {
    error = thrown
  })
  await waitAtMost(PATIENCE_MS, [loading], schedule)
  if (error !== undefined) emit({ type: 'load-failed', sessionId: id, error: describeError(error) })
  return sent
}

/** Shorter than the key of the session itself, which bounds the length of its id. */
function sentKey(id: string): string {
  return `sent:${id}`
}
