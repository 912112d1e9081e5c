import { isRecord } from '../json.ts'
import type { WorkBudget } from '../time.ts'
import { ASSERTIONS } from './assertions.ts'
import { FaultList } from './describe-faults.ts'
import type { PreparedSchema, SchemaNode, SchemaPart } from './prepare-schema.ts'

/** A value's position in the instance, linked back to the root. */
export interface Place {
  readonly parent: Place | undefined
  readonly key: string | number
}

/** One value under one schema node: the input of a check. */
export interface Visit {
  readonly evaluation: Evaluation
  readonly node: SchemaNode
  readonly instance: unknown
  readonly place: Place | undefined
  /** Collects faults. Absent when only the verdict counts; evaluation then stops at the first fault. */
  readonly faults: FaultList | undefined
  /** Names and indexes that keywords have evaluated. Absent unless an `unevaluated…` keyword needs them. */
  readonly seen: Set<string | number> | undefined
}

/** Whether the value passes one keyword of its schema. */
export type Check = (visit: Visit) => boolean

/** Work is counted in units of about 5 ns. */
const VISIT_COST = 40
/** Cost of recording an evaluated name or index and passing it on. */
const SEEN_COST = 60
/** Deeper than any real data, and shallow enough for the stack. */
const MAX_DEPTH = 400

/** Thrown when a check exceeds its budget; always caught within this folder. */
export class TooMuchWork extends Error {}

/** One check of one instance. Counts every step and throws `TooMuchWork` when its budget runs out. */
export class Evaluation {
  readonly schema: PreparedSchema
  readonly #budget: WorkBudget
  #depth = 0

  constructor(schema: PreparedSchema, budget: WorkBudget) {
    this.schema = schema
    this.#budget = budget
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
    for (const check of this.#checksOf(node)) {
      if (check(visit)) continue
      isValid = false
      if (visit.faults === undefined) break
    }
    return isValid
  }

  #checksOf(node: SchemaNode): readonly Check[] {
    const known = this.schema.checks.get(node)
    if (known) return known
    // Before 2019-09, siblings of a $ref are ignored.
    const isAlone = (this.schema.draft === '4' || this.schema.draft === '7') && '$ref' in node
    const checks = isAlone
      ? [followRef]
      : [...CHECKS]
          .filter(([keywords]) => keywords.some((keyword) => keyword in node))
          .map(([, check]) => check)
    this.schema.checks.set(node, checks)
    return checks
  }

  #merge(from: ReadonlySet<string | number>, into: Set<string | number>): void {
    this.spend(from.size * SEEN_COST)
    for (const key of from) into.add(key)
  }
}

function fail(keyword: string, visit: Visit): boolean {
  return visit.faults?.add(keyword, visit) ?? false
}

function followRef({ evaluation, node, ...at }: Visit): boolean {
  return evaluation.evaluate(evaluation.schema.targets.get(node) ?? true, at)
}

function checkAllOf({ evaluation, node, ...at }: Visit): boolean {
  let isValid = true
  for (const part of node.allOf as SchemaPart[]) {
    if (evaluation.evaluate(part, at)) continue
    isValid = false
    if (at.faults === undefined) return false
  }
  return isValid
}

function checkAnyOf(visit: Visit): boolean {
  return countFitting('anyOf', visit, Number.POSITIVE_INFINITY) > 0 || failAll('anyOf', visit)
}

function checkOneOf(visit: Visit): boolean {
  const fitting = countFitting('oneOf', visit, 2)
  if (fitting === 0) return failAll('oneOf', visit)
  return fitting === 1 || fail('oneOf', visit)
}

/** Counts the matching alternatives. Stops once the result is known, unless evaluated names must be recorded. */
function countFitting(keyword: 'anyOf' | 'oneOf', visit: Visit, enough: number): number {
  const { evaluation, node, instance, seen } = visit
  const stopAt = keyword === 'anyOf' ? (seen === undefined ? 1 : enough) : enough
  let fitting = 0
  for (const part of node[keyword] as SchemaPart[]) {
    if (evaluation.fits(part, instance, seen) && ++fitting >= stopAt) break
  }
  return fitting
}

function failAll(keyword: 'anyOf' | 'oneOf', visit: Visit): boolean {
  if (visit.faults === undefined) return false
  const branches = (visit.node[keyword] as SchemaPart[]).map((part) => {
    const faults = new FaultList()
    visit.evaluation.evaluate(part, { ...visit, faults, seen: undefined })
    return faults.kept
  })
  return visit.faults.add(keyword, visit, branches)
}

function checkNot(visit: Visit): boolean {
  return !visit.evaluation.fits(visit.node.not as SchemaPart, visit.instance) || fail('not', visit)
}

function checkIf({ evaluation, node, ...at }: Visit): boolean {
  const isMet = evaluation.fits(node.if as SchemaPart, at.instance, at.seen)
  const part = (isMet ? node.then : node.else) as SchemaPart | undefined
  return part === undefined || evaluation.evaluate(part, at)
}

function checkDependents({ evaluation, node, ...at }: Visit): boolean {
  if (!isRecord(at.instance)) return true
  let isValid = true
  const parts = { ...(node.dependencies as object), ...(node.dependentSchemas as object) }
  for (const [name, part] of Object.entries(parts)) {
    evaluation.spend(VISIT_COST)
    if (Array.isArray(part) || !Object.hasOwn(at.instance, name)) continue
    if (evaluation.evaluate(part as SchemaPart, at)) continue
    isValid = false
    if (at.faults === undefined) return false
  }
  return isValid
}

/** Checks `properties`, `patternProperties` and `additionalProperties` in one pass over the given object. */
function checkMembers(visit: Visit): boolean {
  const { evaluation, node, instance } = visit
  if (!isRecord(instance)) return true
  const properties = (node.properties ?? {}) as Readonly<Record<string, SchemaPart>>
  const patterns = evaluation.schema.keyTests.get(node) ?? []
  const rest = node.additionalProperties as SchemaPart | undefined
  let isValid = true
  for (const key of Object.keys(instance)) {
    evaluation.spend(VISIT_COST)
    const isNamed = Object.hasOwn(properties, key)
    if (isNamed) isValid = checkMember(properties[key], key, visit) && isValid
    let isMatched = isNamed
    for (const { test, part } of patterns) {
      if (!test(key, evaluation.budget)) continue
      isMatched = true
      isValid = checkMember(part, key, visit) && isValid
    }
    if (!isMatched && rest !== undefined) isValid = checkMember(rest, key, visit) && isValid
    if (!isValid && visit.faults === undefined) return false
  }
  return isValid
}

/**
 * Checks one property or item. A fault of a `false` schema names the container's node, which knows the other
 * properties.
 */
function checkMember(part: SchemaPart | undefined, key: string | number, visit: Visit): boolean {
  const { evaluation, node, place, faults, seen } = visit
  const instance = (visit.instance as Record<string | number, unknown>)[key]
  if (seen) {
    evaluation.spend(SEEN_COST)
    seen.add(key)
  }
  const inner: Place = { parent: place, key }
  if (part === false) {
    faults?.add('false', { ...visit, node, instance, place: inner })
    return false
  }
  return evaluation.evaluate(part ?? true, { instance, place: inner, faults, seen: undefined })
}

function checkUnevaluatedProperties(visit: Visit): boolean {
  if (!isRecord(visit.instance)) return true
  return checkUnseen(Object.keys(visit.instance), visit.node.unevaluatedProperties as SchemaPart, visit)
}

function checkUnevaluatedItems(visit: Visit): boolean {
  if (!Array.isArray(visit.instance)) return true
  const indexes = visit.instance.map((_, index) => index)
  return checkUnseen(indexes, visit.node.unevaluatedItems as SchemaPart, visit)
}

function checkUnseen(keys: readonly (string | number)[], part: SchemaPart, visit: Visit): boolean {
  visit.evaluation.spend(keys.length * SEEN_COST)
  let isValid = true
  for (const key of keys) {
    if (visit.seen?.has(key) || checkMember(part, key, visit)) continue
    isValid = false
    if (visit.faults === undefined) return false
  }
  return isValid
}

function checkPropertyNames(visit: Visit): boolean {
  const { evaluation, node, instance, place, faults } = visit
  if (!isRecord(instance)) return true
  let isValid = true
  for (const key of Object.keys(instance)) {
    const at = { instance: key, place: { parent: place, key }, faults, seen: undefined }
    if (evaluation.evaluate(node.propertyNames as SchemaPart, at)) continue
    isValid = false
    if (faults === undefined) return false
  }
  return isValid
}

/** Checks a tuple first (`prefixItems`, or `items` as a list), then the remaining items. */
function checkItems(visit: Visit): boolean {
  const { node, instance, faults } = visit
  if (!Array.isArray(instance)) return true
  const isOldTuple = Array.isArray(node.items)
  const tuple = (node.prefixItems ?? (isOldTuple ? node.items : [])) as readonly SchemaPart[]
  const rest = (isOldTuple ? node.additionalItems : node.items) as SchemaPart | undefined
  const length = rest === undefined ? Math.min(tuple.length, instance.length) : instance.length
  let isValid = true
  for (let index = 0; index < length; index++) {
    const part = index < tuple.length ? tuple[index] : rest
    isValid = checkMember(part, index, visit) && isValid
    if (!isValid && faults === undefined) return false
  }
  return isValid
}

function checkContains(visit: Visit): boolean {
  const { evaluation, node, instance, seen } = visit
  if (!Array.isArray(instance)) return true
  const least = (node.minContains as number | undefined) ?? 1
  const most = (node.maxContains as number | undefined) ?? Number.POSITIVE_INFINITY
  let found = 0
  for (const [index, item] of instance.entries()) {
    if (!evaluation.fits(node.contains as SchemaPart, item)) continue
    found++
    seen?.add(index)
    if (found > most) return fail('maxContains', visit)
    if (found >= least && most === Number.POSITIVE_INFINITY && seen === undefined) return true
  }
  if (found >= least) return true
  return fail(node.minContains === undefined ? 'contains' : 'minContains', visit)
}

/** All checks with their keywords, in the order in which faults are reported; `unevaluated…` comes last. */
const CHECKS: readonly (readonly [keywords: readonly string[], check: Check])[] = [
  [['$ref', '$recursiveRef', '$dynamicRef'], followRef],
  ...ASSERTIONS,
  [['not'], checkNot],
  [['anyOf'], checkAnyOf],
  [['allOf'], checkAllOf],
  [['oneOf'], checkOneOf],
  [['if'], checkIf],
  [['dependentSchemas', 'dependencies'], checkDependents],
  [['propertyNames'], checkPropertyNames],
  [['properties', 'patternProperties', 'additionalProperties'], checkMembers],
  [['prefixItems', 'items'], checkItems],
  [['contains'], checkContains],
  [['unevaluatedProperties'], checkUnevaluatedProperties],
  [['unevaluatedItems'], checkUnevaluatedItems],
]
