import type { SignalSource } from './terminal.ts'

/** Thrown when a signal ended the work. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
  /** `SIGTERM` */
  readonly signal: string
  /** The exit code that shells expect of a process ended by the signal. */
  readonly exitCode: number

  constructor(signal: string, exitCode: number) {
    super(`ended by ${signal}`)
    this.signal = signal
    this.exitCode = exitCode
  }
}

const EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const

/** Longer than it takes to kill servers that do not exit by themselves. */
const CLEAN_UP_MS = 5_000

/**
 * Runs work that cleans up after itself. The first signal aborts its `AbortSignal` with `Interrupted`; a second one
 * exits the process immediately, and so does a clean-up that takes longer than five seconds. Signals that are not
 * `isMeant` are left to the work.
 */
export async function untilSignal<Result>(
  signals: SignalSource,
  work: (signal: AbortSignal) => Promise<Result>,
  exitIn: (ms: number, exitCode: number) => void = exitProcessIn,
  isMeant: (signal: string) => boolean = () => true,
): Promise<Result> {
  const controller = new AbortController()
  const meant = Object.entries(EXIT_CODES).filter(([name]) => isMeant(name))
  const listeners = meant.map(([name, exitCode]) => {
    const listener = () => {
      stopListening()
      exitIn(CLEAN_UP_MS, exitCode)
      controller.abort(new Interrupted(name, exitCode))
    }
    signals.on(name, listener)
    return () => signals.off(name, listener)
  })
  const stopListening = () => {
    for (const stop of listeners) stop()
  }
  try {
    return await work(controller.signal)
  } finally {
    stopListening()
  }
}

/** The timer does not keep the process alive. */
function exitProcessIn(ms: number, exitCode: number): void {
  setTimeout(() => process.exit(exitCode), ms).unref()
}

/** Settles like the promise, or rejects with the signal's reason as soon as it is aborted. */
export async function orAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  let stop = () => {}
  const aborted = new Promise<never>((_, reject) => {
    const fail = () => reject(signal.reason)
    if (signal.aborted) fail()
    signal.addEventListener('abort', fail, { once: true })
    stop = () => signal.removeEventListener('abort', fail)
  })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    stop()
  }
}
