import { WorkBudget } from '../bounded-pattern.ts'
import { describeError, ToolcribError } from '../errors.ts'
import { isRecord } from '../json.ts'
import type { JsonSchema } from '../tool.ts'
import { Evaluation, type Fault, FaultList, TooMuchWork } from './evaluation.ts'
import { type PreparedSchema, prepareSchema, type SchemaPart } from './prepare-schema.ts'

/** Whether an instance fits a schema; `unchecked` when the two together cost too much to find out. */
export type Verdict =
  | { readonly kind: 'valid' }
  | { readonly kind: 'invalid' }
  | { readonly kind: 'unchecked'; readonly reason: string }

/**
 * A schema made ready to validate many instances. It never throws, never fetches a `$ref` from anywhere, and its work
 * is counted and bounded: a schema from a stranger is data like any other.
 */
export class CompiledSchema {
  /** Why nothing can be validated, when the schema as a whole is beyond use. */
  readonly unusable: string | undefined
  /** What parts of it were left out. */
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
    // A schema that fails on the emptiest instance would fail on all.
    const probe = this.validate({})
    if (probe.kind === 'unchecked') this.unusable = probe.reason
  }

  get root(): SchemaPart {
    return this.#prepared?.root ?? true
  }

  /** Checks an instance. The work comes out of the budget, or out of one of its own. */
  validate(instance: unknown, budget: WorkBudget = checkBudget()): Verdict {
    const outcome = this.#run(budget, (evaluation) => evaluation.fits(this.root, instance))
    if (typeof outcome === 'string') return { kind: 'unchecked', reason: outcome }
    return { kind: outcome ? 'valid' : 'invalid' }
  }

  /** Whether a part of the schema accepts a value; false as well when the budget is spent. */
  accepts(part: unknown, value: unknown, budget: WorkBudget): boolean {
    const isPart = typeof part === 'boolean' || isRecord(part)
    return !isPart || this.#run(budget, (evaluation) => evaluation.fits(part, value)) === true
  }

  /** What is wrong with an instance that is invalid: what a budget of its own suffices to find. */
  faultsOf(instance: unknown): { readonly kept: readonly Fault[]; readonly count: number } {
    const faults = new FaultList()
    const at = { instance, place: undefined, faults, seen: undefined }
    this.#run(new WorkBudget(WORK_OF_DESCRIBING), (evaluation) => evaluation.evaluate(this.root, at))
    return faults
  }

  /** A part of the schema, or what its `$ref` points to. */
  resolve(part: unknown): unknown {
    let current = part
    for (let hops = 0; hops < MAX_HOPS && isRecord(current) && '$ref' in current; hops++) {
      current = this.#prepared?.targets.get(current)
    }
    return current
  }

  /** The outcome, or why there is none. */
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

/** In units of about 5 ns: well under 100 ms together, and enough for a megabyte of records. */
const WORK_OF_ONE_CHECK = 10_000_000
const WORK_OF_DESCRIBING = 2_000_000

/** The work that checking one instance may cost, with everything that is tried to put it right. */
export function checkBudget(): WorkBudget {
  return new WorkBudget(WORK_OF_ONE_CHECK)
}
