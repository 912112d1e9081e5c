import type { OutputUnit } from '@cfworker/json-schema'
import { isRecord } from '../json.ts'
import { nearestName } from '../nearest-name.ts'
import type { Mask } from '../secrets/mask.ts'
import { clipText } from '../text.ts'
import type { CompiledSchema } from './compiled-schema.ts'
import { InstanceCheck, type InstanceChecks } from './instance-check.ts'

const MAX_FAULTS = 5
const MAX_ALTERNATIVES = 20

/**
 * What is wrong with the arguments, one line a fault: the path, what was expected there, and what was given. A handful
 * at most: whoever reads it mends those first.
 */
export function describeFaults(
  errors: readonly OutputUnit[],
  instance: unknown,
  schema: CompiledSchema,
  mask: Mask = (text) => text,
): string {
  const faults = chooseErrors(errors)
  const lines = new Set<string>()
  let told = 0
  while (told < faults.length && lines.size < MAX_FAULTS) {
    const fault = faults[told++]
    if (fault) lines.add(describe(fault, instance, schema, mask))
  }
  const more = faults.length - told
  return [...lines].join('; ') + (more > 0 ? `; and ${more} more` : '')
}

/** An error, or several at one place that amount to one: a value that is none of the types it could be. */
interface Fault extends OutputUnit {
  readonly alternatives?: readonly OutputUnit[]
}

// A container's error only says that something inside is wrong; what is inside follows it in the list.
const CONTAINERS = new Set([
  '$ref',
  '$recursiveRef',
  'allOf',
  'if',
  'properties',
  'patternProperties',
  'items',
  'prefixItems',
  'additionalItems',
  'unevaluatedItems',
  'additionalProperties',
  'unevaluatedProperties',
  'dependentSchemas',
  'propertyNames',
  'contains',
])

function chooseErrors(errors: readonly OutputUnit[]): Fault[] {
  const chosen: Fault[] = []
  for (let index = 0; index < errors.length; index++) {
    const error = errors[index]
    if (error === undefined) continue
    if (error.keyword === 'anyOf' || error.keyword === 'oneOf') {
      const inside = takeInside(errors, index)
      for (const fault of chooseBranch(error, inside)) chosen.push(fault)
      index += inside.length
      continue
    }
    const next = errors[index + 1]
    if (next?.keyword === 'false') {
      // The validator does not say where that `false` stands; the container before it does.
      chosen.push({ ...next, keywordLocation: error.keywordLocation })
      index++
      continue
    }
    if (!CONTAINERS.has(error.keyword) || (error.keyword === 'contains' && next === undefined))
      chosen.push(error)
  }
  return chosen
}

function takeInside(errors: readonly OutputUnit[], index: number): OutputUnit[] {
  const prefix = `${errors[index]?.keywordLocation}/`
  let end = index + 1
  while (errors[end]?.keywordLocation.startsWith(prefix)) end++
  return errors.slice(index + 1, end)
}

// Of several alternatives, the one meant is that whose kind the value has; what is wrong inside it is worth telling.
function chooseBranch(error: OutputUnit, inside: readonly OutputUnit[]): Fault[] {
  const branches = new Map<string, OutputUnit[]>()
  for (const nested of inside) {
    const branch = nested.keywordLocation.slice(error.keywordLocation.length + 1).split('/')[0] ?? ''
    const errorsOfBranch = branches.get(branch)
    if (errorsOfBranch) errorsOfBranch.push(nested)
    else branches.set(branch, [nested])
  }
  const isOfKind = (branch: OutputUnit[]) =>
    branch.every((nested) => nested.instanceLocation !== error.instanceLocation || nested.keyword !== 'type')
  const ofKind = [...branches.values()].filter(isOfKind).sort((a, b) => a.length - b.length)
  // Alternatives that each name their values are one choice among all of those.
  const namesValues = ({ instanceLocation, keyword }: OutputUnit) =>
    instanceLocation === error.instanceLocation && (keyword === 'const' || keyword === 'enum')
  const values = ofKind.flatMap((branch) => branch.filter(namesValues))
  if (ofKind.length > 1 && ofKind.every((branch) => branch.some(namesValues))) {
    return [{ ...error, alternatives: values.slice(0, MAX_ALTERNATIVES) }]
  }
  const [meant] = ofKind
  if (meant) return chooseErrors(meant)
  const types = inside.filter((nested) => nested.keyword === 'type')
  return [{ ...error, alternatives: types.slice(0, MAX_ALTERNATIVES) }]
}

function describe(error: Fault, instance: unknown, schema: CompiledSchema, mask: Mask): string {
  const path = readPointer(error.instanceLocation)
  const given = valueAt(instance, path)
  const node = schemaAt(error.keywordLocation, schema)
  const at = showPath(path)
  const expected = expectation(error, node, given, schema)
  if (error.keyword === 'required' && isRecord(node) && isRecord(given)) return missing(path, node, given)
  if (error.keyword === 'false') return unknownProperty(path, node)
  const was = show(given, mask)
  return expected === undefined
    ? `${at}: ${error.error} It was ${was}`
    : `${at}: expected ${expected}, was ${was}`
}

function expectation(
  error: Fault,
  node: unknown,
  given: unknown,
  schema: CompiledSchema,
): string | undefined {
  if (error.alternatives && error.alternatives.length > 0) {
    const expected = error.alternatives.map((nested) =>
      expectation(nested, schemaAt(nested.keywordLocation, schema), given, schema),
    )
    const distinct = [...new Set(expected.filter((text) => text !== undefined))]
    return distinct.length > 0 ? distinct.join(' or ') : undefined
  }
  if (!isRecord(node)) return undefined
  switch (error.keyword) {
    case 'type':
      return typeNames(node)
    case 'enum':
      return node.enum instanceof InstanceCheck
        ? checkText(node.enum.checks, given)
        : `one of ${list(node.enum)}`
    case 'const':
      return clip(JSON.stringify(node.const))
    case 'minimum':
      return `at least ${node.minimum}`
    case 'maximum':
      return `at most ${node.maximum}`
    case 'exclusiveMinimum':
      return `more than ${node.exclusiveMinimum}`
    case 'exclusiveMaximum':
      return `less than ${node.exclusiveMaximum}`
    case 'multipleOf':
      return `a multiple of ${node.multipleOf}`
    case 'minLength':
      return `at least ${node.minLength} characters`
    case 'maxLength':
      return `at most ${node.maxLength} characters`
    case 'minItems':
      return `at least ${node.minItems} items`
    case 'maxItems':
      return `at most ${node.maxItems} items`
    case 'format':
      return `the format ${node.format}`
    case 'minProperties':
      return `at least ${node.minProperties} properties`
    case 'maxProperties':
      return `at most ${node.maxProperties} properties`
    case 'contains':
      return `an item that fits ${clip(JSON.stringify(node.contains))}`
    case 'minContains':
      return `at least ${node.minContains} items that fit ${clip(JSON.stringify(node.contains))}`
    case 'maxContains':
      return `at most ${node.maxContains} items that fit ${clip(JSON.stringify(node.contains))}`
    case 'not':
      return `something that does not fit ${clip(JSON.stringify(node.not))}`
    case 'oneOf':
      return 'something that fits just one of the alternatives, not several'
    case 'dependentRequired':
    case 'dependencies':
      return dependencyText(node[error.keyword], given)
    default:
      return undefined
  }
}

function dependencyText(dependencies: unknown, given: unknown): string | undefined {
  if (!isRecord(dependencies) || !isRecord(given)) return undefined
  for (const [name, needed] of Object.entries(dependencies)) {
    if (!Object.hasOwn(given, name) || !Array.isArray(needed)) continue
    const missing = needed.filter((other) => typeof other === 'string' && !Object.hasOwn(given, other))
    if (missing.length > 0) return `${missing.join(' and ')} along with ${name}`
  }
  return undefined
}

function checkText({ pattern, values }: InstanceChecks, given: unknown): string {
  if (values && !values.includes(given)) return `one of ${list(values)}`
  if (Array.isArray(given)) return 'items that are all different'
  return `a text that matches /${clip(pattern?.source ?? '')}/`
}

function typeNames(node: unknown): string | undefined {
  if (!isRecord(node)) return undefined
  return Array.isArray(node.type)
    ? node.type.join(' or ')
    : typeof node.type === 'string'
      ? node.type
      : undefined
}

function missing(
  path: readonly string[],
  node: Record<string, unknown>,
  given: Record<string, unknown>,
): string {
  const required: readonly unknown[] = Array.isArray(node.required) ? node.required : []
  const names = required.filter((name) => typeof name === 'string' && !Object.hasOwn(given, name))
  const properties = isRecord(node.properties) ? node.properties : {}
  return names
    .slice(0, MAX_FAULTS)
    .map((name) => {
      const type = typeNames(properties[String(name)])
      return `${showPath([...path, String(name)])}: required${type ? ` (${type})` : ''}, was missing`
    })
    .join('; ')
}

function unknownProperty(path: readonly string[], node: unknown): string {
  const known = isRecord(node) && isRecord(node.properties) ? Object.keys(node.properties) : []
  const nearest = nearestName(path.at(-1) ?? '', known)
  const hint = nearest === undefined ? '' : `; did you mean "${nearest}"?`
  return `${showPath(path)}: not a known property${hint}`
}

function readPointer(location: string): string[] {
  const segments = location.replace(/^#\/?/, '')
  if (segments === '') return []
  return segments.split('/').map((segment) => decode(segment).replace(/~1/g, '/').replace(/~0/g, '~'))
}

function decode(segment: string): string {
  try {
    return decodeURI(segment)
  } catch {
    return segment
  }
}

function valueAt(root: unknown, path: readonly string[]): unknown {
  let current = root
  for (const key of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, key)) return undefined
    current = (current as Record<string, unknown>)[key]
  }
  return current
}

/** The schema node whose keyword an error names, through every `$ref` on the way. */
function schemaAt(location: string, schema: CompiledSchema): unknown {
  let current: unknown = schema.root
  for (const key of readPointer(location).slice(0, -1)) {
    if (key === '$ref') current = schema.resolve(current)
    else current = valueAt(current, [key])
  }
  return current
}

function showPath(path: readonly string[]): string {
  return path.length === 0 ? 'arguments' : path.join('.')
}

function list(values: unknown): string {
  return Array.isArray(values)
    ? clip(values.map((value) => JSON.stringify(value)).join(', '), 300)
    : 'the listed values'
}

function show(value: unknown, mask: Mask): string {
  if (value === undefined) return 'missing'
  if (value === null) return 'null'
  const type = Array.isArray(value) ? 'array' : typeof value
  // Masked before it is cut: half a secret would not be recognised.
  return `${type} (${clip(mask(JSON.stringify(value)))})`
}

function clip(text: string, maxChars = 60): string {
  return clipText(text, maxChars)
}
