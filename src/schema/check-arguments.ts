import { copyJson } from '../copy-json.ts'
import { describeError } from '../errors.ts'
import { isRecord } from '../json.ts'
import type { Mask } from '../secrets/mask.ts'
import type { JsonSchema } from '../tool.ts'
import { coerce } from './coerce.ts'
import { CompiledSchema, checkBudget } from './compiled-schema.ts'
import { describeFaults } from './describe-faults.ts'

/** Arguments fit for the tool, and its alone to change; or what is wrong with them. */
export type CheckedArguments =
  | { readonly ok: true; readonly args: unknown }
  | { readonly ok: false; readonly error: string }

/** Schemas made ready, each once. They go when their tools go. */
export class SchemaCache {
  readonly #compiled = new WeakMap<object, CompiledSchema>()

  /** The schema made ready; `onFaults` hears, once, what in it cannot be evaluated. */
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
}

const ANYTHING = {}
const NOTHING = {}

/**
 * Validates a call's arguments and puts harmless slips right. Nothing counts as `{}`; JSON in a string is read. A
 * schema that is beyond use as a whole checks nothing: a server's broken schema must not keep the model from calling,
 * and the server still checks for itself. Arguments that cannot be checked in bounded time are refused. What an error
 * quotes of them is masked before it is shortened.
 */
export function checkArguments(schema: CompiledSchema, given: unknown, mask?: Mask): CheckedArguments {
  let args: unknown
  try {
    args = copyJson(readArguments(given))
  } catch (thrown) {
    return { ok: false, error: `arguments: expected JSON, but ${describeError(thrown)}` }
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

/** What checking a result against its schema came to. */
export type CheckedOutput =
  | { readonly kind: 'valid' }
  | { readonly kind: 'invalid'; readonly error: string }
  | { readonly kind: 'unchecked'; readonly reason: string }

/**
 * Checks structured output against a tool's output schema, within bounded work. `unchecked` when the schema is beyond
 * use or the check costs too much: pass the result on, and say so in an event.
 */
export function checkOutput(schema: CompiledSchema, structured: unknown): CheckedOutput {
  if (schema.unusable !== undefined) return { kind: 'unchecked', reason: schema.unusable }
  const verdict = schema.validate(structured)
  if (verdict.kind !== 'invalid') return verdict
  return { kind: 'invalid', error: describeFaults(schema.faultsOf(structured)) }
}

/** Arguments as they were meant: nothing is `{}`, JSON in a string is what it says. */
export function readArguments(given: unknown): unknown {
  if (given === undefined || given === null) return {}
  if (typeof given !== 'string') return given
  if (given.trim() === '') return {}
  try {
    return JSON.parse(given)
  } catch {
    return given
  }
}

function tooMuch(reason: string): CheckedArguments {
  return {
    ok: false,
    error: `arguments: cannot be checked against the schema (${reason}); make them shorter or simpler`,
  }
}
