import type { WorkBudget } from '../time.ts'
import type { SchemaNode, SchemaPart } from './keywords.ts'
import type { PreparedSchema } from './prepare-schema.ts'

/** A value's position in the instance, linked back to the root. */
export interface Position {
  readonly parent: Position | undefined
  readonly key: string | number
}

/** One value under one schema node: the input of a check. */
export interface Visit {
  readonly evaluation: Evaluation
  readonly node: SchemaNode
  readonly instance: unknown
  readonly place: Position | undefined
  /** Collects faults. Absent when only the verdict counts; evaluation then stops at the first fault. */
  readonly faults: FaultList | undefined
  /** Names and indexes that keywords have evaluated. Absent unless an `unevaluated…` keyword needs them. */
  readonly seen: Set<string | number> | undefined
}

/** Whether the value passes one keyword of its schema. */
export type Check = (visit: Visit) => boolean

/** Returns the checks of a node, for the keywords that it has. */
export type ChecksOf = (node: SchemaNode, schema: PreparedSchema) => readonly Check[]

/** Work is counted in units of about 5 ns. */
export const VISIT_COST = 40
/** Cost of recording an evaluated name or index and passing it on. */
export const SEEN_COST = 60
/** Deeper than any real data, and shallow enough for the stack. */
const MAX_DEPTH = 400

/** Thrown when a check exceeds its budget; always caught within this folder. */
export class TooMuchWork extends Error {}

/** One check of one instance. Counts every step and throws `TooMuchWork` when its budget runs out. */
export class Evaluation {
  readonly schema: PreparedSchema
  readonly #budget: WorkBudget
  readonly #checksOf: ChecksOf
  #depth = 0

  constructor(schema: PreparedSchema, budget: WorkBudget, checksOf: ChecksOf) {
    this.schema = schema
    this.#budget = budget
    this.#checksOf = checksOf
  }

  get budget(): WorkBudget {
    return this.#budget
  }

  spend(units: number): void {
    this.#budget.spend(units)
    if (this.#budget.left < 0) this.giveUp('checking takes too much work')
  }

  giveUp(reason: string): never {
    throw new TooMuchWork(reason)
  }

  /** Whether a part of the schema accepts a value; records what it evaluated. */
  fits(part: SchemaPart, instance: unknown, seen?: Set<string | number>): boolean {
    return this.evaluate(part, { instance, place: undefined, faults: undefined, seen })
  }

  evaluate(part: SchemaPart, at: Pick<Visit, 'instance' | 'place' | 'faults' | 'seen'>): boolean {
    this.spend(VISIT_COST)
    if (part === true) return true
    if (part === false) {
      at.faults?.add('false', { ...at, evaluation: this, node: {} })
      return false
    }
    if (++this.#depth > MAX_DEPTH) this.giveUp(`checking recurses more than ${MAX_DEPTH} levels deep`)
    const seen = this.schema.hasUnevaluated ? new Set<string | number>() : undefined
    const visit: Visit = {
      evaluation: this,
      node: part,
      instance: at.instance,
      place: at.place,
      faults: at.faults,
      seen,
    }
    const isValid = this.#runChecks(part, visit)
    this.#depth--
    if (isValid && seen && at.seen) this.#merge(seen, at.seen)
    return isValid
  }

  #runChecks(node: SchemaNode, visit: Visit): boolean {
    let isValid = true
    for (const check of this.#checksOf(node, this.schema)) {
      if (check(visit)) continue
      isValid = false
      if (visit.faults === undefined) break
    }
    return isValid
  }

  #merge(from: ReadonlySet<string | number>, into: Set<string | number>): void {
    this.spend(from.size * SEEN_COST)
    for (const key of from) into.add(key)
  }
}

/** Records the fault of a keyword, where faults are collected. */
export function fail(keyword: string, visit: Visit): false {
  return visit.faults?.add(keyword, visit) ?? false
}

/** One keyword's complaint about one value. */
export interface Fault {
  readonly keyword: string
  /** The schema that contains the keyword. */
  readonly node: SchemaNode
  readonly path: readonly string[]
  readonly given: unknown
  /** For `anyOf` and `oneOf` without a matching alternative: the faults of each. */
  readonly branches?: readonly (readonly Fault[])[]
}

/** Faults in order; beyond a limit, only their number. */
export class FaultList {
  readonly kept: Fault[] = []
  count = 0

  add(keyword: string, visit: Visit, branches?: readonly (readonly Fault[])[]): false {
    this.count++
    visit.evaluation.spend(FAULT_COST)
    if (this.kept.length >= MAX_KEPT) return false
    const { node, place, instance: given } = visit
    this.kept.push({ keyword, node, path: pathOf(place), given, ...(branches && { branches }) })
    return false
  }
}

const MAX_KEPT = 50
/** In the units of an evaluation's work budget. */
const FAULT_COST = 1_000

function pathOf(place: Position | undefined): string[] {
  const path: string[] = []
  for (let at = place; at !== undefined; at = at.parent) path.push(String(at.key))
  return path.reverse()
}
