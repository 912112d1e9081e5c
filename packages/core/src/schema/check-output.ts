import type { CompiledSchema } from './compiled-schema.ts'
import { describeFaults } from './describe-faults.ts'

/** The outcome of checking a result against its schema. */
export type CheckedOutput =
  | { readonly kind: 'valid' }
  | { readonly kind: 'invalid'; readonly error: string }
  | { readonly kind: 'unchecked'; readonly reason: string }

/**
 * Checks structured output against a tool's output schema, within a work budget. Returns `unchecked` if the schema is
 * unusable or the check too expensive: pass the result on and report it in an event.
 */
export function checkOutput(schema: CompiledSchema, structured: unknown): CheckedOutput {
  if (schema.unusable !== undefined) return { kind: 'unchecked', reason: schema.unusable }
  const verdict = schema.validate(structured)
  if (verdict.kind !== 'invalid') return verdict
  return {
    kind: 'invalid',
    error: describeFaults(schema.faultsOf(structured), undefined, 'structured content'),
  }
}
