import type { Schedule } from '@toolcrib/core'
import { BatchAbort, Slots, Timers } from '@toolcrib/core/internal'
import type { Launcher } from './launcher.ts'

/** How many launchers install at once: they share the network, and npm damages its cache under many of them. */
const AT_ONCE = 2
/** A launcher that takes longer no longer keeps others waiting: it may have hung. */
const TURN_MS = 30_000
/** A server that was installed already starts within this time, and nobody need hear of an install. */
const QUIET_MS = 2_000
/** How often the time that has passed is told. */
const TELL_MS = 10_000

interface InstallTime {
  readonly now: () => number
  readonly schedule: Schedule
}

/**
 * Called with what a server waits for, which changes as time passes, now and then while that lasts, and with undefined
 * afterwards.
 */
export type TellInstall = (describe: (() => string) | undefined) => void

/** The first starts of servers whose launchers may have to download them: few at a time, and with what they wait for. */
export class Installs {
  readonly #slots = new Slots(AT_ONCE)
  readonly #time: InstallTime

  constructor(time: InstallTime) {
    this.#time = time
  }

  /**
   * Waits for its turn; rejects with the signal's reason. The returned function must be called once the server responds,
   * or has failed to.
   */
  async begin(
    { name }: Launcher,
    { signal, tell }: { readonly signal: AbortSignal; readonly tell: TellInstall },
  ): Promise<() => void> {
    const { now, schedule } = this.#time
    const timers = new Timers<'tell' | 'turn'>(schedule)
    let startedAt: number | undefined
    const describe = () =>
      startedAt === undefined
        ? 'waiting for other downloads'
        : `downloading with ${name}, ${Math.round((now() - startedAt) / 1000)} s`
    const tellAfter = (ms: number) =>
      timers.start('tell', ms, () => {
        tell(describe)
        tellAfter(TELL_MS - ((now() - (startedAt ?? now())) % TELL_MS))
      })
    tellAfter(QUIET_MS)
    const abort = new BatchAbort(signal)
    const leave = await this.#slots.enter(abort)
    abort.close()
    if (!leave) {
      timers.stopAll()
      throw signal.reason
    }
    startedAt = now()
    tellAfter(QUIET_MS)
    timers.start('turn', TURN_MS, leave)
    return () => {
      timers.stopAll()
      leave()
      tell(undefined)
    }
  }
}
