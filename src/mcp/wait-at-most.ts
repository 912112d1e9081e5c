import type { Schedule } from './schedule.ts'

/** Waits until all of it is done or the time is up, whichever comes first. What rejects counts as done. */
export async function waitAtMost(
  timeoutMs: number,
  work: readonly (Promise<unknown> | undefined)[],
  schedule: Schedule,
): Promise<void> {
  const awaited = work.filter((promise) => promise !== undefined)
  if (awaited.length === 0) return
  let stop = () => {}
  const expired = new Promise<void>((resolve) => {
    stop = schedule(timeoutMs, resolve)
  })
  await Promise.race([Promise.allSettled(awaited), expired])
  stop()
}
