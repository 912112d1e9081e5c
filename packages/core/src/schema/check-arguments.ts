import { describeError } from '../errors.ts'
import { copyJson, isRecord, readArguments } from '../json.ts'
import type { JsonSchema } from '../tool.ts'
import { coerce } from './coerce.ts'
import { CompiledSchema, checkBudget } from './compiled-schema.ts'
import type { FoundFaults } from './describe-faults.ts'
import { NOT_LOADED, type RareChecks } from './prepare-schema.ts'

/** Valid arguments, in a copy that the tool may change, or what is wrong: a text, or faults for `describeFaults()`. */
export type CheckedArguments =
  | { readonly ok: true; readonly args: unknown }
  | { readonly ok: false; readonly error: string | FoundFaults }

/** Caches compiled schemas. An entry is dropped with its tool. */
export class SchemaCache {
  readonly #compiled = new WeakMap<object, CompiledSchema>()
  #rareChecks: RareChecks | undefined

  /** Whether `loadRareChecks()` must be called before a schema is compiled: few have rare keywords. */
  lacksRareChecks(schema: JsonSchema | undefined): boolean {
    if (this.#rareChecks !== undefined || !isRecord(schema) || this.#compiled.has(schema)) return false
    return IS_RARE.test(JSON.stringify(schema))
  }

  async loadRareChecks(): Promise<void> {
    this.#rareChecks = await import('./rare-checks.ts')
  }

  /** Compiles a schema. `onFaults` is called once, with the parts of it that cannot be evaluated. */
  compile(schema: JsonSchema, onFaults: (faults: readonly string[]) => void): CompiledSchema {
    const key: object = isRecord(schema) ? schema : schema === false ? NOTHING : ANYTHING
    const known = this.#compiled.get(key)
    if (known) return known
    // Never unchecked: the call fails instead.
    if (this.lacksRareChecks(schema)) throw new Error(NOT_LOADED)
    const compiled = new CompiledSchema(
      isRecord(schema) || schema === false ? schema : true,
      this.#rareChecks,
    )
    this.#compiled.set(key, compiled)
    const faults = compiled.unusable === undefined ? compiled.faults : [compiled.unusable]
    if (faults.length > 0) onFaults(faults)
    return compiled
  }

  /** Validates arguments, as `checkArguments` does, against a schema that is compiled once. */
  check(schema: JsonSchema, given: unknown, onFaults: (faults: readonly string[]) => void): CheckedArguments {
    return checkArguments(this.compile(schema, onFaults), given)
  }
}

const IS_RARE = /"(?:pattern(?:Properties)?|format|uniqueItems|multipleOf|\$\w*[rR]ef)":/

const ANYTHING = {}
const NOTHING = {}

/**
 * Validates a call's arguments and corrects harmless mistakes. Absent arguments count as `{}`; JSON in a string is
 * parsed. An unusable schema accepts everything: a server's broken schema must not block calls, and the server still
 * validates for itself. Arguments that are too expensive to check are rejected.
 */
export function checkArguments(schema: CompiledSchema, given: unknown): CheckedArguments {
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
  return { ok: false, error: schema.faultsOf(coerced) }
}

function tooMuch(reason: string): CheckedArguments {
  return {
    ok: false,
    error: `arguments: cannot be checked against the schema (${reason}); make them shorter or simpler`,
  }
}
