import { describeError } from '../errors.ts'
import { copyJson, isRecord, readArguments } from '../json.ts'
import type { Mask } from '../secrets/mask.ts'
import type { JsonSchema } from '../tool.ts'
import { coerce } from './coerce.ts'
import { CompiledSchema, checkBudget } from './compiled-schema.ts'
import { describeFaults } from './describe-faults.ts'

/** Valid arguments, in a copy that the tool may change, or the error. */
export type CheckedArguments =
  | { readonly ok: true; readonly args: unknown }
  | { readonly ok: false; readonly error: string }

/** Caches compiled schemas. An entry is dropped with its tool. */
export class SchemaCache {
  readonly #compiled = new WeakMap<object, CompiledSchema>()

  /** Compiles a schema. `onFaults` is called once, with the parts of it that cannot be evaluated. */
  compile(schema: JsonSchema, onFaults: (faults: readonly string[]) => void): CompiledSchema {
    const key: object = isRecord(schema) ? schema : schema === false ? NOTHING : ANYTHING
    const known = this.#compiled.get(key)
    if (known) return known
    const compiled = new CompiledSchema(isRecord(schema) || schema === false ? schema : true)
    this.#compiled.set(key, compiled)
    const faults = compiled.unusable === undefined ? compiled.faults : [compiled.unusable]
    if (faults.length > 0) onFaults(faults)
    return compiled
  }

  /** Validates arguments, as `checkArguments` does, against a schema that is compiled once. */
  check(
    schema: JsonSchema,
    given: unknown,
    {
      onFaults,
      mask,
    }: { readonly onFaults: (faults: readonly string[]) => void; readonly mask?: Mask | undefined },
  ): CheckedArguments {
    return checkArguments(this.compile(schema, onFaults), given, mask)
  }
}

const ANYTHING = {}
const NOTHING = {}

/**
 * Validates a call's arguments and corrects harmless mistakes. Absent arguments count as `{}`; JSON in a string is
 * parsed. An unusable schema accepts everything: a server's broken schema must not block calls, and the server still
 * validates for itself. Arguments that are too expensive to check are rejected. Values quoted in an error are masked
 * before they are shortened.
 */
export function checkArguments(schema: CompiledSchema, given: unknown, mask?: Mask): CheckedArguments {
  let args: unknown
  try {
    args = copyJson(readArguments(given))
  } catch (thrown) {
    return { ok: false, error: `arguments: invalid JSON: ${describeError(thrown)}` }
  }
  if (schema.unusable !== undefined) return { ok: true, args }
  const budget = checkBudget()
  const verdict = schema.validate(args, budget)
  if (verdict.kind === 'valid') return { ok: true, args }
  if (verdict.kind === 'unchecked') return tooMuch(verdict.reason)
  const coerced = coerce(args, schema, budget)
  const second = schema.validate(coerced, budget)
  if (second.kind === 'valid') return { ok: true, args: coerced }
  if (second.kind === 'unchecked') return tooMuch(second.reason)
  return { ok: false, error: describeFaults(schema.faultsOf(coerced), mask) }
}

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

function tooMuch(reason: string): CheckedArguments {
  return {
    ok: false,
    error: `arguments: cannot be checked against the schema (${reason}); make them shorter or simpler`,
  }
}
