/** The clock, timers and random numbers of the loop. */
export interface Timing {
  now(): number
  /** From 0 to 1, as `Math.random`. */
  random(): number
  /** Resolves after the delay, or as soon as the signal fires. */
  sleep(delayMs: number, signal: AbortSignal): Promise<void>
}

/** The platform's clock, timers and random numbers. */
export const platformTiming: Timing = {
  now: () => Date.now(),
  random: () => Math.random(),
  sleep: (delayMs, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve()
      const wake = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      const timer = setTimeout(wake, delayMs)
      signal.addEventListener('abort', wake)
    }),
}
