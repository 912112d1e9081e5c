import fc from 'fast-check'
import { it } from 'vitest'

const seconds = Number(process.env.FUZZ_SECONDS ?? 5)
const maxRuns = Number(process.env.FUZZ_RUNS ?? 1e9)
const seedGiven = process.env.FUZZ_SEED

/**
 * Searches for a value that breaks a property, for as long as `npm run fuzz -- --seconds N` says, or for so many `--runs`.
 * Prints its seed: `npm run fuzz -- --seed S` repeats a run. For files named `*.fuzz.ts`.
 */
export function fuzz<Value>(
  name: string,
  values: fc.Arbitrary<Value>,
  property: (value: Value) => void | Promise<void>,
): void {
  it(
    name,
    async () => {
      const seed = seedGiven === undefined ? Date.now() | 0 : Number(seedGiven)
      let runs = 0
      const counted = fc.asyncProperty(values, async (value) => {
        runs++
        await property(value)
      })
      const options = { seed, numRuns: maxRuns, interruptAfterTimeLimit: seconds * 1000, verbose: 1 } as const
      try {
        await fc.assert(counted, options)
      } finally {
        process.stdout.write(`${name}: ${runs} runs, seed ${seed}\n`)
      }
    },
    // Shrinking a failure takes time too.
    seconds * 1000 + 120_000,
  )
}
