import { stat } from 'node:fs/promises'
import type { Schedule, Store, StoredValue } from '@toolcrib/core'
import { isRecord, waitAtMost, within } from '@toolcrib/core/internal'

/** How many processes in a row failed to start a server, and why the last one did. */
export interface StartFailure {
  readonly reason: string
  /** What the server waited for, as in its status. */
  readonly needs?: 'sign-in'
  readonly failures: number
  /** When it failed last, in milliseconds. */
  readonly failedAt: number
  /**
   * Until then, it is started only if needed. For a server that hung, this may be in the past: it is tried again in the
   * background.
   */
  readonly retryAt: number
}

const FIRST_PAUSE_MS = 10_000
const LONGEST_PAUSE_MS = 5 * 60_000
/** Trying a server that hangs costs every command seconds, so the pause is longer than for one that fails at once. */
const FIRST_HANG_PAUSE_MS = 5 * 60_000
const LONGEST_HANG_PAUSE_MS = 6 * 60 * 60_000
/** If this many processes in a row gave up waiting for a server, it hangs. */
const GIVEN_UP_TIMES = 3
/** Failures are forgotten after a day. */
const KEPT_MS = 24 * 60 * 60_000
/** That a server was installed is forgotten after a month. */
const INSTALLED_MS = 30 * KEPT_MS
const LOAD_MS = 1_000
const SAVE_MS = 10_000
/** How long saving may delay closing. */
const CLOSE_MS = 1_000
const MAX_REASON_CHARS = 1_000

/**
 * Remembers in a store that a server failed to start, so that the next process does not wait for it again: for ten
 * seconds after the first failure, and twice as long after each further one, up to five minutes; from five minutes to
 * six hours if it hung. Even after that, nobody waits for a server that hung: it counts as failed until it answers. All
 * attempts of one process until the server starts count as one failure. If the program was installed, replaced or
 * removed since, it is tried at once. A store that fails is treated as an empty one.
 */
export class StartFailures {
  readonly #store: Store
  readonly #key: string
  readonly #installedKey: string
  readonly #now: () => number
  readonly #schedule: Schedule
  readonly #findProgram: () => Promise<string | undefined>
  #isCounted = false
  /** One change at a time, so that they are made in order. */
  #changing: Promise<void> = Promise.resolve()

  /**
   * `fingerprint` changes with the config of the server, and so does what is remembered. `findProgram` returns the file
   * that its command runs, if there is one.
   */
  constructor(store: Store, fingerprint: string, { now, schedule, findProgram }: FailuresOptions) {
    this.#store = store
    this.#key = `failure:${fingerprint}`
    this.#installedKey = `installed:${fingerprint}`
    this.#now = now
    this.#schedule = schedule
    this.#findProgram = findProgram
  }

  /** Returns the last failure if nobody should wait for the server yet; otherwise undefined. */
  async recall(): Promise<StartFailure | undefined> {
    try {
      const saved = readFailure(await within(LOAD_MS, this.#store.get(this.#key), this.#schedule))
      const isOver = saved !== undefined && saved.failure.retryAt <= this.#now() && !saved.hasHung
      if (!saved || isOver) return undefined
      const program = await within(LOAD_MS, this.#programVersion(), this.#schedule)
      return saved.program === program ? saved.failure : undefined
    } catch {
      return undefined
    }
  }

  /** Records a failed attempt, in the background. Only the first one since the last `clear()` raises the count. */
  note(attempt: FailedAttempt): void {
    const failedAt = this.#now()
    const isRetry = this.#isCounted
    this.#isCounted = true
    this.#change(async () => {
      const program = await this.#programVersion()
      const noted = { attempt, failedAt, isRetry, program }
      await this.#store.update(this.#key, (saved) => withAttempt(readFailure(saved), noted), {
        ttlMs: KEPT_MS,
      })
    })
  }

  /** Forgets all failures, in the background. */
  clear(): void {
    this.#isCounted = false
    this.#change(() => this.#store.delete(this.#key))
  }

  /** Whether `noteInstalled()` was called within a month, in any process. Never rejects. */
  async isInstalled(): Promise<boolean> {
    const saved = within(LOAD_MS, this.#store.get(this.#installedKey), this.#schedule)
    return (await saved.catch(ignore)) === true
  }

  /** Records, in the background, that the launcher of the server need not download it any more. */
  noteInstalled(): void {
    this.#change(() => this.#store.set(this.#installedKey, true, { ttlMs: INSTALLED_MS }))
  }

  /** Resolves once everything is saved, or that takes too long. */
  async close(): Promise<void> {
    await waitAtMost(CLOSE_MS, [this.#changing], this.#schedule)
  }

  /** Differs after the program was installed, replaced or removed; empty when there is none. */
  async #programVersion(): Promise<string> {
    try {
      const file = await this.#findProgram()
      return file === undefined ? '' : `${file} ${(await stat(file)).mtimeMs}`
    } catch {
      return ''
    }
  }

  #change(work: () => Promise<unknown>): void {
    this.#changing = this.#changing.then(() => within(SAVE_MS, work(), this.#schedule)).then(ignore, ignore)
  }
}

/** One attempt to start a server that failed. */
interface FailedAttempt extends Pick<StartFailure, 'reason' | 'needs'> {
  /**
   * `failed`: it said so, or exited. `hung`: it did not answer for so long that it probably never will. `given-up`: it
   * had not answered yet when the process ended. Default: `failed`.
   */
  readonly how?: 'failed' | 'hung' | 'given-up'
}

/** The failures of a server in the store. */
interface SavedFailure {
  readonly failure: StartFailure
  readonly hasHung: boolean
  /** The version of its program when it failed. */
  readonly program: string | undefined
}

/** The failures after another attempt. */
function withAttempt(
  before: SavedFailure | undefined,
  { attempt, failedAt, isRetry, program }: NotedAttempt,
): StoredValue {
  const { reason, needs, how } = attempt
  const count = before?.failure.failures ?? 0
  const failures = isRetry ? Math.max(count, 1) : count + 1
  const hasHung =
    how === 'hung' || before?.hasHung === true || (how === 'given-up' && failures >= GIVEN_UP_TIMES)
  // A process that waited for a shorter time than the server is known to hang has learned nothing new.
  const isOldNews = how === 'given-up' && before?.hasHung === true
  return {
    reason: isOldNews ? before.failure.reason : reason.slice(0, MAX_REASON_CHARS),
    hasHung,
    failures,
    failedAt,
    retryAt: failedAt + pauseMs(failures, hasHung),
    program,
    ...(needs === undefined ? {} : { needs }),
  }
}

interface NotedAttempt {
  readonly attempt: FailedAttempt
  readonly failedAt: number
  /** Whether this process has counted a failure already. */
  readonly isRetry: boolean
  readonly program: string
}

function pauseMs(failures: number, hasHung: boolean): number {
  const [first, longest] = hasHung
    ? [FIRST_HANG_PAUSE_MS, LONGEST_HANG_PAUSE_MS]
    : [FIRST_PAUSE_MS, LONGEST_PAUSE_MS]
  return Math.min(first * 2 ** (failures - 1), longest)
}

interface FailuresOptions {
  readonly now: () => number
  readonly schedule: Schedule
  readonly findProgram: () => Promise<string | undefined>
}

/**
 * Describes in one line why a server failed in an earlier process, when this one tries it again (`tryInMs`), and how to
 * try it now.
 */
export function describeStartFailure(
  { reason, failures, failedAt }: StartFailure,
  { now, tryInMs }: { readonly now: number; readonly tryInMs: number },
): string {
  const times = failures === 1 ? 'failed' : `failed ${failures} times, last`
  const next = `next attempt in ${duration(tryInMs)}, or now with "toolcrib doctor"`
  return `${pastReason(reason)} (${times} ${duration(now - failedAt)} ago, so it was not started again; ${next})`
}

/** Nobody waits for it now, so the text must not suggest that it hangs at present. */
function pastReason(reason: string): string {
  return reason
    .replace(/^it had not connected after (\d+ s), when it was closed/, 'no answer within $1')
    .replace(
      /^(?:it did not connect|no response to the greeting) within (\d+) ms/,
      (_, ms) => `no answer within ${Number(ms) < 1000 ? `${ms} ms` : duration(Number(ms))}`,
    )
}

function duration(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1000))
  if (seconds < 100) return `${seconds} s`
  return seconds < 6000 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`
}

function readFailure(data: unknown): SavedFailure | undefined {
  if (!isRecord(data)) return undefined
  const { reason, needs, failures, failedAt, retryAt, hasHung, program } = data
  const isWhole =
    typeof reason === 'string' &&
    typeof failures === 'number' &&
    typeof failedAt === 'number' &&
    typeof retryAt === 'number'
  if (!isWhole) return undefined
  return {
    failure: { reason, failures, failedAt, retryAt, ...(needs === 'sign-in' ? { needs } : {}) },
    hasHung: hasHung === true,
    program: typeof program === 'string' ? program : undefined,
  }
}

function ignore(): void {}
