import { isRecord } from '../json.ts'
import { ASSERTIONS } from './assertions.ts'
import {
  type Check,
  type ChecksOf,
  FaultList,
  fail,
  type Position,
  SEEN_COST,
  VISIT_COST,
  type Visit,
} from './evaluation.ts'
import type { SchemaNode, SchemaPart } from './keywords.ts'

/** Returns the checks of a node, in the order in which faults are reported. They are computed on first use. */
export const checksOf: ChecksOf = (node, { draft }) => {
  const known = CHECKS_OF.get(node)
  if (known) return known
  // Before 2019-09, siblings of a $ref are ignored.
  const isAlone = (draft === '4' || draft === '7') && '$ref' in node
  const fitting = CHECKS.filter(([keywords]) => keywords.some((keyword) => keyword in node))
  const checks = isAlone ? [followRef] : fitting.map(([, check]) => check)
  CHECKS_OF.set(node, checks)
  return checks
}

/** A node belongs to one prepared schema. */
const CHECKS_OF = new WeakMap<SchemaNode, readonly Check[]>()

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
  const inner: Position = { parent: place, key }
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
