import { ToolcribError } from '../errors.ts'
import { canonicalJson } from '../json.ts'

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
