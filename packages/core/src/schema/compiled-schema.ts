import { describeError, ToolcribError } from '../errors.ts'
import { isRecord } from '../json.ts'
import { WorkBudget } from '../time.ts'
import type { JsonSchema } from '../tool.ts'
import { checksOf } from './applicators.ts'
import type { FoundFaults } from './describe-faults.ts'
import { Evaluation, FaultList, TooMuchWork } from './evaluation.ts'
import type { SchemaNode, SchemaPart } from './keywords.ts'
import { type PreparedSchema, prepareSchema, type RareChecks } from './prepare-schema.ts'

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

  /** A schema with rare keywords needs `rareChecks`. */
  constructor(schema: JsonSchema, rareChecks?: RareChecks) {
    try {
      this.#prepared = prepareSchema(schema, rareChecks)
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
  faultsOf(instance: unknown): FoundFaults {
    const faults = new FaultList()
    const at = { instance, place: undefined, faults, seen: undefined }
    this.#run(new WorkBudget(WORK_OF_DESCRIBING), (evaluation) => evaluation.evaluate(this.root, at))
    return faults
  }

  /**
   * The properties of an object that the schema does not name, whatever `additionalProperties` says. None for a schema that
   * names no property at all: it has nothing to guess.
   */
  unnamed(instance: unknown): readonly string[] {
    if (!isRecord(instance) || this.#prepared === undefined) return []
    const left = new Set(Object.keys(instance))
    const seen = new Set<unknown>()
    let namesAny = false
    const visit = (part: unknown): void => {
      if (left.size === 0 || !isRecord(part) || seen.has(part)) return
      seen.add(part)
      for (const name of Object.keys(recordOf(part.properties))) {
        namesAny = true
        left.delete(name)
      }
      for (const name of left) if (this.#hasPatternFor(part, name)) left.delete(name)
      visit(this.#prepared?.targets.get(part))
      for (const keyword of IN_PLACE) {
        const parts = part[keyword]
        if (Array.isArray(parts)) parts.forEach(visit)
        else visit(parts)
      }
      for (const keyword of IN_PLACE_MAPS) Object.values(recordOf(part[keyword])).forEach(visit)
    }
    visit(this.root)
    return namesAny ? [...left] : []
  }

  #hasPatternFor(part: SchemaNode, name: string): boolean {
    const tests = this.#prepared?.keyTests.get(part) ?? []
    try {
      const budget = checkBudget()
      return tests.some(({ test }) => test(name, budget))
    } catch {
      // Too expensive to check: the schema decides.
      return true
    }
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
      return run(new Evaluation(this.#prepared, budget, checksOf))
    } catch (thrown) {
      const isSpent = thrown instanceof TooMuchWork || thrown instanceof ToolcribError
      if (isSpent || thrown instanceof RangeError) return describeError(thrown)
      throw thrown
    }
  }
}

const MAX_HOPS = 20

/** Keywords whose schemas describe the same object. */
const IN_PLACE = ['allOf', 'anyOf', 'oneOf', 'if', 'then', 'else']
const IN_PLACE_MAPS = ['dependentSchemas', 'dependencies']

function recordOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {}
}

/** In units of about 5 ns: well under 100 ms in total, and enough for a megabyte of records. */
const WORK_OF_ONE_CHECK = 10_000_000
const WORK_OF_DESCRIBING = 2_000_000

/** The work budget for checking one instance, including coercion. */
export function checkBudget(): WorkBudget {
  return new WorkBudget(WORK_OF_ONE_CHECK)
}
