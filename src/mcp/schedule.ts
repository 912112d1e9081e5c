/** Calls `fire` after so many milliseconds, unless the returned function is called first. */
export type Schedule = (delayMs: number, fire: () => void) => () => void

/** The platform's timers. They keep no process alive: a server that may start some time is no reason to stay. */
export const scheduleWithTimers: Schedule = (delayMs, fire) => {
  const timer = setTimeout(fire, Math.min(delayMs, 2 ** 31 - 1))
  timer.unref()
  return () => clearTimeout(timer)
}
