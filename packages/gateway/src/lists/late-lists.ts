import { isDeepStrictEqual } from 'node:util'
import type { Schedule, ServerNotification } from '@toolcrib/mcp'
import type { Limits } from '../gateway-options.ts'
import type { ListWatchers } from './list-watchers.ts'

/** How long lists wait, and who is notified of a list that came too late. */
export interface Patience {
  readonly limits: Pick<Limits, 'listWaitMs'>
  readonly schedule: Schedule
  readonly watchers: Pick<ListWatchers, 'notified'>
}

/** A list that a server is asked for. */
export interface AwaitedList {
  /** Equal for every reader of this list. */
  readonly key: string
  /** The session whose private connection is used; undefined for the shared one. */
  readonly session: { readonly owner: string; readonly signal: AbortSignal } | undefined
  /** The notification that clients get when it changes. */
  readonly notification: ServerNotification
  /** Reads it from the server. Resolves to false if that failed; never rejects. */
  read(): Promise<boolean>
  /** The last known content. */
  known(): readonly unknown[]
}

interface LateList {
  readonly owner: string | undefined
  /** The content that clients have. */
  answered: readonly unknown[]
  isReading: boolean
  /** Whether a client asked while it was being read: what arrives may then be older than the question. */
  isAskedAgain: boolean
}

/**
 * Waits a limited time for lists. A list that timed out is read again when a client asks, but nobody waits for it until
 * it has arrived in time once. Clients are notified only if a late list differs from their answer: they ask again then,
 * and a server that is always slow would otherwise be asked forever.
 */
export class LateLists {
  readonly #patience: Patience
  /** Lists that timed out. */
  readonly #late = new Map<string, LateList>()

  constructor(patience: Patience) {
    this.#patience = patience
  }

  /** Reads a list. Resolves when its known content may be used as the answer. */
  async read(list: AwaitedList): Promise<void> {
    const late = this.#late.get(list.key)
    if (!late) return this.#readInTime(list)
    if (late.isReading) late.isAskedAgain = true
    else void this.#readLater(list, late)
  }

  /** Forgets the lists of a session that ended. */
  forget(owner: string): void {
    for (const [key, late] of this.#late) if (late.owner === owner) this.#late.delete(key)
  }

  async #readInTime(list: AwaitedList): Promise<void> {
    const reading = list.read()
    if (await this.#isInTime(reading)) return
    const answered = list.known()
    const owner = list.session?.owner
    const late = this.#late.get(list.key) ?? { owner, answered, isReading: true, isAskedAgain: false }
    this.#late.set(list.key, late)
    void this.#arrive(list, late, reading)
  }

  async #readLater(list: AwaitedList, late: LateList): Promise<void> {
    late.isReading = true
    late.isAskedAgain = false
    const reading = list.read()
    if (await this.#isInTime(reading)) this.#late.delete(list.key)
    else this.#late.set(list.key, late)
    await this.#arrive(list, late, reading)
  }

  async #arrive(list: AwaitedList, late: LateList, reading: Promise<boolean>): Promise<void> {
    const isRead = await reading
    late.isReading = false
    if (list.session?.signal.aborted) return void this.#late.delete(list.key)
    const known = list.known()
    if (isRead && !isDeepStrictEqual(known, late.answered)) {
      late.answered = known
      this.#patience.watchers.notified(list.notification)
    }
    if (late.isAskedAgain && !late.isReading) void this.#readLater(list, late)
  }

  async #isInTime(reading: Promise<unknown>): Promise<boolean> {
    const { limits, schedule } = this.#patience
    let stop = () => {}
    const timeUp = new Promise<'late'>((resolve) => {
      stop = schedule(limits.listWaitMs, () => resolve('late'))
    })
    const outcome = await Promise.race([reading, timeUp])
    stop()
    return outcome !== 'late'
  }
}
