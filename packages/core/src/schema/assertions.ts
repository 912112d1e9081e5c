import { isRecord } from '../json.ts'
import { type Check, type Evaluation, fail, type Visit } from './evaluation.ts'

/** Keywords that constrain a value directly, with their checks, in the order in which faults are reported. */
export const ASSERTIONS: readonly (readonly [keywords: readonly string[], check: Check])[] = [
  [['type'], (visit) => isOfTypes(visit.instance, visit.node.type) || fail('type', visit)],
  [['const'], (visit) => isEqual(visit.instance, visit.node.const, visit.evaluation) || fail('const', visit)],
  [['enum'], (visit) => isChoice(visit) || fail('enum', visit)],
  [['required'], checkRequired],
  [['dependentRequired'], (visit) => checkDependentRequired('dependentRequired', visit)],
  [['dependencies'], (visit) => checkDependentRequired('dependencies', visit)],
  [['minProperties', 'maxProperties'], checkPropertyCount],
  [['minItems', 'maxItems'], checkItemCount],
  [['uniqueItems'], checkUnique],
  [['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'], checkRange],
  [['multipleOf'], checkMultiple],
  [['minLength', 'maxLength'], checkLength],
  [['pattern'], checkPattern],
  [['format'], checkFormat],
]

function isOfTypes(instance: unknown, types: unknown): boolean {
  return Array.isArray(types) ? types.some((type) => isOfType(instance, type)) : isOfType(instance, types)
}

/** Whether a JSON value has the given schema type. */
export function isOfType(instance: unknown, type: unknown): boolean {
  switch (type) {
    case 'null':
      return instance === null
    case 'array':
      return Array.isArray(instance)
    case 'object':
      return isRecord(instance)
    case 'integer':
      return Number.isInteger(instance)
    default:
      return typeof instance === type
  }
}

/** Whether two JSON values are equal, regardless of key order. */
function isEqual(a: unknown, b: unknown, evaluation: Evaluation): boolean {
  evaluation.spend(10)
  if (typeof a === 'string' && typeof b === 'string' && a.length === b.length) evaluation.spend(a.length / 16)
  if (a === b) return true
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => isEqual(item, b[index], evaluation))
  }
  if (!isRecord(a) || !isRecord(b)) return false
  const keys = Object.keys(a)
  evaluation.spend(keys.length * 20)
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isEqual(a[key], b[key], evaluation))
  )
}

function isChoice({ evaluation, node, instance }: Visit): boolean {
  const choices = evaluation.schema.choices.get(node)
  if (choices === undefined) return true
  if (typeof instance !== 'object' || instance === null) return choices.scalars.has(instance)
  return choices.structures.some((choice) => isEqual(instance, choice, evaluation))
}

function checkRequired(visit: Visit): boolean {
  const { evaluation, node, instance } = visit
  if (!isRecord(instance)) return true
  const names = node.required as readonly string[]
  evaluation.spend(names.length * 10)
  return names.every((name) => Object.hasOwn(instance, name)) || fail('required', visit)
}

function checkDependentRequired(keyword: 'dependentRequired' | 'dependencies', visit: Visit): boolean {
  const { evaluation, node, instance } = visit
  if (!isRecord(instance)) return true
  for (const [name, others] of Object.entries(node[keyword] as object)) {
    evaluation.spend(4 + (Array.isArray(others) ? others.length * 4 : 0))
    if (!Array.isArray(others) || !Object.hasOwn(instance, name)) continue
    if (!others.every((other) => Object.hasOwn(instance, other))) return fail(keyword, visit)
  }
  return true
}

function checkPropertyCount(visit: Visit): boolean {
  const { evaluation, node, instance } = visit
  if (!isRecord(instance)) return true
  const count = Object.keys(instance).length
  evaluation.spend(count)
  return checkCount(count, 'minProperties', 'maxProperties', visit, node)
}

function checkItemCount(visit: Visit): boolean {
  if (!Array.isArray(visit.instance)) return true
  return checkCount(visit.instance.length, 'minItems', 'maxItems', visit, visit.node)
}

function checkLength(visit: Visit): boolean {
  const { evaluation, node, instance } = visit
  if (typeof instance !== 'string') return true
  evaluation.spend(instance.length)
  return checkCount(countCodePoints(instance), 'minLength', 'maxLength', visit, node)
}

function checkCount(count: number, min: string, max: string, visit: Visit, node: Visit['node']): boolean {
  if (typeof node[min] === 'number' && count < node[min]) return fail(min, visit)
  if (typeof node[max] === 'number' && count > node[max]) return fail(max, visit)
  return true
}

function countCodePoints(text: string): number {
  let count = text.length
  for (let index = 1; index < text.length; index++) {
    const isPair =
      (text.charCodeAt(index) & 0xfc00) === 0xdc00 && (text.charCodeAt(index - 1) & 0xfc00) === 0xd800
    if (isPair) count--
  }
  return count
}

function checkUnique(visit: Visit): boolean {
  const { evaluation, node, instance } = visit
  if (node.uniqueItems !== true || !Array.isArray(instance)) return true
  return evaluation.schema.rare?.areUnique(instance, evaluation) || fail('uniqueItems', visit)
}

function checkRange(visit: Visit): boolean {
  const { node, instance: value } = visit
  if (typeof value !== 'number') return true
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = node
  // In draft 4 the exclusive bounds are boolean flags.
  const isOut = [
    typeof minimum === 'number' &&
      (exclusiveMinimum === true ? value <= minimum : value < minimum) &&
      'minimum',
    typeof maximum === 'number' &&
      (exclusiveMaximum === true ? value >= maximum : value > maximum) &&
      'maximum',
    typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum && 'exclusiveMinimum',
    typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum && 'exclusiveMaximum',
  ].find((keyword) => keyword !== false)
  return isOut === undefined || fail(isOut, visit)
}

function checkMultiple(visit: Visit): boolean {
  const { evaluation, node, instance } = visit
  if (typeof instance !== 'number') return true
  return (
    evaluation.schema.rare?.isMultiple(instance, Number(node.multipleOf), evaluation) ||
    fail('multipleOf', visit)
  )
}

function checkPattern(visit: Visit): boolean {
  const { evaluation, node, instance } = visit
  if (typeof instance !== 'string') return true
  const test = evaluation.schema.tests.get(node)
  return test === undefined || test(instance, evaluation.budget) || fail('pattern', visit)
}

function checkFormat(visit: Visit): boolean {
  const { evaluation, node, instance } = visit
  if (typeof instance !== 'string') return true
  const isValid = evaluation.schema.rare?.formats.get(String(node.format))
  evaluation.spend(instance.length * 4)
  return isValid === undefined || isValid(instance) || fail('format', visit)
}
