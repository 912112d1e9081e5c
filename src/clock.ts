/** Where the time comes from: a function or anything with `now()`, in milliseconds. `Date` fits. */
export type Clock = (() => number) | { now(): number }

/** The clock as a plain function. */
export function readClock(clock: Clock): () => number {
  // Asked for first: `Date` has a now() and is a function as well.
  return 'now' in clock ? () => clock.now() : clock
}
