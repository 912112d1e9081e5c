import { Deadline, describeError, isTooLate } from '@toolcrib/core/internal'
import type { ServerConfig } from '../config/server-config.ts'
import { launcherOf } from '../connection/stdio/launcher.ts'
import type { ServerState } from './server-state.ts'

/** The next process does not wait for a start that takes this long. */
const SLOW_START_MS = 2_000
/** A start that takes longer has probably hung. */
const HANGS_AFTER_MS = 10_000
/** How long a launcher may download a server, unless its config says otherwise. */
const INSTALL_MS = 5 * 60_000

/** Whether a launcher may have to download the server first; what is known of earlier starts is read only then. */
export async function mayInstall(
  { config }: ServerState,
  hasRun: () => Promise<boolean> | undefined,
): Promise<boolean> {
  return launcherOf(config) !== undefined && (await hasRun()) !== true
}

/** One attempt to start a server. */
export class StartAttempt {
  readonly startedAt: number
  /** What the server is started with. */
  readonly config: ServerConfig
  readonly deadline: Deadline
  /** Whether a launcher may have to download it first, which takes minutes: nothing says that it ever ran. */
  readonly mayInstall: boolean
  readonly #limitMs: number

  constructor(state: ServerState, mayInstall: boolean, now: () => number) {
    this.startedAt = now()
    this.config = state.runConfig
    this.mayInstall = mayInstall
    this.#limitMs = this.mayInstall ? (state.config.connectTimeoutMs ?? INSTALL_MS) : state.connectMs
    this.deadline = new Deadline(now, this.#limitMs)
  }

  /** If a process gives up before a server has failed, the next one should not wait for it either. */
  givenUp(now: number): { readonly reason: string; readonly how: 'hung' | 'given-up' } | undefined {
    const sinceMs = now - this.startedAt
    // A download that was interrupted says nothing about the server.
    if (this.mayInstall || sinceMs < SLOW_START_MS) return undefined
    const reason = `it had not connected after ${Math.round(sinceMs / 1000)} s, when it was closed`
    return { reason, how: sinceMs >= HANGS_AFTER_MS ? 'hung' : 'given-up' }
  }

  /** Why the server did not start. */
  describe(error: unknown): string {
    if (!isTooLate(error)) return describeError(error)
    return `it did not connect within ${this.#limitMs} ms; check what it is waiting for, or increase connect_timeout_ms`
  }

  howItFailed(error: unknown): 'hung' | 'failed' {
    return isTooLate(error) && this.#limitMs >= HANGS_AFTER_MS ? 'hung' : 'failed'
  }

  /** Whether a download would be over, whatever the server waits for. */
  wasLongEnough(error: unknown): boolean {
    return this.mayInstall && isTooLate(error) && this.#limitMs >= INSTALL_MS
  }
}
