import type { JsonSchema } from '../tool.ts'
import { checkArguments as check } from './check-arguments.ts'
import { CompiledSchema } from './compiled-schema.ts'
import { describeFaults } from './describe-faults.ts'
import * as rareChecks from './rare-checks.ts'

/** Compiles a schema with all its checks. */
export const compileSchema = (schema: JsonSchema) => new CompiledSchema(schema, rareChecks)

/** Checks arguments, and describes what is wrong as the answer of a call does. */
export function checkArguments(schema: CompiledSchema, given: unknown, mask?: (text: string) => string) {
  const checked = check(schema, given)
  if (checked.ok) return checked
  const { error } = checked
  return { ok: false as const, error: typeof error === 'string' ? error : describeFaults(error, mask) }
}
