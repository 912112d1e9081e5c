import type { Schedule } from '@toolcrib/mcp'

/** Starts platform timers that do not keep the process alive. */
export const inBackground: Schedule = (delayMs, fire) => {
  const timer = setTimeout(fire, delayMs)
  timer.unref()
  return () => clearTimeout(timer)
}
