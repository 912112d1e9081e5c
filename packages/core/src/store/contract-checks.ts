import { ToolcribError } from '../errors.ts'
import { canonicalJson } from '../json.ts'
import type { Store } from './store.ts'

/** One rule of every store: `run` throws if it is broken. */
export interface StoreCheck {
  readonly name: string
  run(): Promise<void>
}

/** An empty store to check, and what the checks need. */
export interface StoreUnderTest {
  readonly store: Store
  /** Lets time pass for the store: moves its fake clock, or waits. The checks pass about a second in all. */
  passTime(ms: number): void | Promise<void>
  /** Opens the same data again, like another process. Omit it if no other process can see the data. */
  openAgain?(): Store | Promise<Store>
}

/** Makes a check of an empty store. */
export type MakeCheck = (name: string, run: (tested: StoreUnderTest) => Promise<void>) => StoreCheck

/** Throws unless the work rejects with this code. */
export async function expectCode(code: string, work: Promise<unknown>): Promise<void> {
  const thrown = await work.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (thrown instanceof ToolcribError && thrown.code === code) return
  throw new Error(`expected ${code}, got ${thrown === undefined ? 'no error' : String(thrown)}`)
}

/** Throws unless both values are equal. */
export function expect(actual: unknown, expected: unknown): void {
  const [got, wanted] = [describe(actual), describe(expected)]
  if (got !== wanted) throw new Error(`expected ${wanted.slice(0, 500)}, got ${got.slice(0, 500)}`)
}

function describe(value: unknown): string {
  if (value instanceof Uint8Array) return `bytes ${value.join(' ')}`
  return value === undefined ? 'undefined' : canonicalJson(Array.isArray(value) ? value.map(describe) : value)
}
