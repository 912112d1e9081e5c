import { describeError, ToolcribError } from '../errors.ts'
import { copyJson, isRecord, readArguments } from '../json.ts'
import type { Mask } from '../secrets/mask.ts'
import { WorkBudget } from '../time.ts'
import type { JsonSchema } from '../tool.ts'
import { coerce } from './coerce.ts'
import { describeFaults, type Fault, FaultList } from './describe-faults.ts'
import { Evaluation, TooMuchWork } from './evaluation.ts'
import { type PreparedSchema, prepareSchema, type SchemaPart } from './prepare-schema.ts'

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

/** Whether an instance matches a schema; `unchecked` if the check is too expensive. */
export type Verdict =
  | { readonly kind: 'valid' }
  | { readonly kind: 'invalid' }
  | { readonly kind: 'unchecked'; readonly reason: string }

/**
 * A schema compiled for repeated validation. Untrusted schemas are safe: it never throws, never fetches a `$ref`, and
 * counts and limits its work.
 */
export class CompiledSchema {
  /** Why nothing can be validated, if the whole schema is unusable. */
  readonly unusable: string | undefined
  /** The parts of the schema that were left out. */
  readonly faults: readonly string[]
  readonly #prepared: PreparedSchema | undefined

  constructor(schema: JsonSchema) {
    try {
      this.#prepared = prepareSchema(schema)
    } catch (thrown) {
      this.unusable = describeError(thrown)
    }
    this.faults = this.#prepared?.faults ?? []
    if (this.unusable !== undefined) return
    // A schema that fails on an empty instance would fail on all.
    const probe = this.validate({})
    if (probe.kind === 'unchecked') this.unusable = probe.reason
  }

  get root(): SchemaPart {
    return this.#prepared?.root ?? true
  }

  /** Checks an instance, using the given budget or a new one. */
  validate(instance: unknown, budget: WorkBudget = checkBudget()): Verdict {
    const outcome = this.#run(budget, (evaluation) => evaluation.fits(this.root, instance))
    if (typeof outcome === 'string') return { kind: 'unchecked', reason: outcome }
    return { kind: outcome ? 'valid' : 'invalid' }
  }

  /** Whether a part of the schema accepts a value; false also when the budget runs out. */
  accepts(part: unknown, value: unknown, budget: WorkBudget): boolean {
    const isPart = typeof part === 'boolean' || isRecord(part)
    return !isPart || this.#run(budget, (evaluation) => evaluation.fits(part, value)) === true
  }

  /** The faults of an invalid instance, as many as a separate budget allows to find. */
  faultsOf(instance: unknown): { readonly kept: readonly Fault[]; readonly count: number } {
    const faults = new FaultList()
    const at = { instance, place: undefined, faults, seen: undefined }
    this.#run(new WorkBudget(WORK_OF_DESCRIBING), (evaluation) => evaluation.evaluate(this.root, at))
    return faults
  }

  /** A part of the schema, or the target of its `$ref`. */
  resolve(part: unknown): unknown {
    let current = part
    for (let hops = 0; hops < MAX_HOPS && isRecord(current) && '$ref' in current; hops++) {
      current = this.#prepared?.targets.get(current)
    }
    return current
  }

  /** The outcome, or the reason why there is none. */
  #run(budget: WorkBudget, run: (evaluation: Evaluation) => boolean): boolean | string {
    if (this.#prepared === undefined) return true
    try {
      return run(new Evaluation(this.#prepared, budget))
    } catch (thrown) {
      const isSpent = thrown instanceof TooMuchWork || thrown instanceof ToolcribError
      if (isSpent || thrown instanceof RangeError) return describeError(thrown)
      throw thrown
    }
  }
}

const MAX_HOPS = 20

/** In units of about 5 ns: well under 100 ms in total, and enough for a megabyte of records. */
const WORK_OF_ONE_CHECK = 10_000_000
const WORK_OF_DESCRIBING = 2_000_000

/** The work budget for checking one instance, including coercion. */
export function checkBudget(): WorkBudget {
  return new WorkBudget(WORK_OF_ONE_CHECK)
}
