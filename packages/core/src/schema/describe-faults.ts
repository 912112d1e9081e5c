import { isRecord } from '../json.ts'
import { nearestName } from '../nearest-name.ts'
import type { Mask } from '../secrets/mask-results.ts'
import { clipText } from '../text.ts'
import type { Fault } from './evaluation.ts'

const MAX_FAULTS = 5
const MAX_ALTERNATIVES = 20

/** The first faults of an instance, and how many there are. */
export interface FoundFaults {
  readonly kept: readonly Fault[]
  readonly count: number
}

/**
 * Describes the faults of an instance, one line per fault: the path, what was expected and what was given. Lists at
 * most five; the reader fixes those first. Quoted values are masked before they are shortened. `root` names the whole.
 */
export function describeFaults(
  { kept, count }: FoundFaults,
  mask: Mask = (text) => text,
  root = 'arguments',
): string {
  const faults = chooseFaults(kept)
  if (faults.length === 0) return `${root}: do not match the schema`
  const lines = new Set<string>()
  let told = 0
  while (told < faults.length && lines.size < MAX_FAULTS) {
    const fault = faults[told++]
    if (fault) lines.add(describe(fault, mask, root))
  }
  const more = faults.length - told + (count - kept.length)
  return [...lines].join('; ') + (more > 0 ? `; and ${more} more` : '')
}

/** A fault, or several at one path that are reported as one, when a value has none of the allowed types. */
interface ChosenFault extends Fault {
  readonly alternatives?: readonly Fault[]
}

function chooseFaults(faults: readonly Fault[]): ChosenFault[] {
  return faults.flatMap((fault) =>
    fault.branches === undefined ? [fault] : chooseBranch(fault, fault.branches),
  )
}

// Of several alternatives, picks the one with the value's type and describes the faults inside it.
function chooseBranch(fault: Fault, branches: readonly (readonly Fault[])[]): ChosenFault[] {
  const isHere = ({ path }: Fault) => path.length === fault.path.length
  const flat = branches.map((faults) => ({ faults, all: flatten(faults) }))
  const ofKind = flat
    .filter(({ all }) => all.every((nested) => !isHere(nested) || nested.keyword !== 'type'))
    .sort((a, b) => a.all.length - b.all.length)
  // Alternatives that each list constants are reported as one choice among all of them.
  const namesValues = (nested: Fault) =>
    isHere(nested) && (nested.keyword === 'const' || nested.keyword === 'enum')
  if (ofKind.length > 1 && ofKind.every(({ all }) => all.some(namesValues))) {
    const values = ofKind.flatMap(({ all }) => all.filter(namesValues))
    return [{ ...fault, alternatives: values.slice(0, MAX_ALTERNATIVES) }]
  }
  const [meant] = ofKind
  if (meant) return chooseFaults(meant.faults)
  const types = flat.flatMap(({ all }) => all.filter(({ keyword }) => keyword === 'type'))
  return [{ ...fault, alternatives: types.slice(0, MAX_ALTERNATIVES) }]
}

function flatten(faults: readonly Fault[]): Fault[] {
  return faults.flatMap((fault) => [fault, ...(fault.branches ?? []).flatMap(flatten)])
}

function describe(fault: ChosenFault, mask: Mask, root: string): string {
  const { keyword, node, path, given } = fault
  if (keyword === 'required' && isRecord(given)) return missing(path, node, given)
  if (path.length === 0 && keyword === 'false') return `${root}: the schema allows no value`
  if (keyword === 'false') return unknownProperty(path, node)
  const expected = expectation(fault) ?? 'something else'
  return `${path.length === 0 ? root : showPath(path)}: expected ${expected}, got ${show(given, mask)}`
}

function expectation({ keyword, node, given, alternatives = [] }: ChosenFault): string | undefined {
  if (alternatives.length > 0) {
    const expected = alternatives.map(expectation)
    const distinct = [...new Set(expected.filter((text) => text !== undefined))]
    return distinct.length > 0 ? distinct.join(' or ') : undefined
  }
  switch (keyword) {
    case 'type':
      return typeNames(node)
    case 'enum':
      return `one of ${list(node.enum)}`
    case 'pattern':
      return `a string that matches /${clip(String(node.pattern))}/`
    case 'uniqueItems':
      return 'unique items'
    case 'const':
      return clip(showJson(node.const, MAX_SHOWN))
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
      return `an item that matches ${clip(showJson(node.contains, MAX_SHOWN))}`
    case 'minContains':
      return `at least ${node.minContains} items that match ${clip(showJson(node.contains, MAX_SHOWN))}`
    case 'maxContains':
      return `at most ${node.maxContains} items that match ${clip(showJson(node.contains, MAX_SHOWN))}`
    case 'not':
      return `a value that does not match ${clip(showJson(node.not, MAX_SHOWN))}`
    case 'anyOf':
      return 'a value that matches one of the alternatives'
    case 'oneOf':
      return 'a value that matches exactly one of the alternatives'
    case 'dependentRequired':
    case 'dependencies':
      return dependencyText(node[keyword], given)
    default:
      return undefined
  }
}

function dependencyText(dependencies: unknown, given: unknown): string | undefined {
  if (!isRecord(dependencies) || !isRecord(given)) return undefined
  for (const [name, needed] of Object.entries(dependencies)) {
    if (!Object.hasOwn(given, name) || !Array.isArray(needed)) continue
    const missing = needed.filter((other) => typeof other === 'string' && !Object.hasOwn(given, other))
    if (missing.length > 0) return `${missing.join(' and ')} together with ${name}`
  }
  return undefined
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
      return `${showPath([...path, String(name)])}: required${type ? ` (${type})` : ''} but missing`
    })
    .join('; ')
}

function unknownProperty(path: readonly string[], node: unknown): string {
  const known = isRecord(node) && isRecord(node.properties) ? Object.keys(node.properties) : []
  const nearest = nearestName(path.at(-1) ?? '', known)
  const hint = nearest === undefined ? '' : `; did you mean "${nearest}"?`
  return `${showPath(path)}: unknown property${hint}`
}

function showPath(path: readonly string[]): string {
  return path.join('.') || '""'
}

/** More than fit on a line. */
const MAX_CHOICES = 100

function list(values: unknown): string {
  if (!Array.isArray(values)) return 'the listed values'
  return clip(
    values
      .slice(0, MAX_CHOICES)
      .map((value) => showJson(value, MAX_SHOWN))
      .join(', '),
    300,
  )
}

/** How much of a value to serialise for display: far more than is shown, so that masking sees whole secrets. */
const MAX_SHOWN = 2_000

function show(value: unknown, mask: Mask): string {
  if (value === undefined) return 'missing'
  if (value === null) return 'null'
  const type = Array.isArray(value) ? 'array' : typeof value
  return `${type} (${clip(mask(showJson(value, MAX_SHOWN)))})`
}

function clip(text: string, maxChars = 60): string {
  return clipText(text, maxChars)
}

/**
 * The first `maxChars` characters of a value as JSON. The rest is never read, so a huge or deep value costs no more
 * than a small one.
 */
function showJson(value: unknown, maxChars: number): string {
  let text = ''
  write(value)
  return text.slice(0, maxChars)

  function write(part: unknown): void {
    if (text.length >= maxChars) return
    if (typeof part === 'string') text += JSON.stringify(part.slice(0, maxChars))
    else if (Array.isArray(part)) writeAll('[', part, ']', write)
    else if (typeof part === 'object' && part !== null) writeObject(part)
    else text += JSON.stringify(part) ?? String(part)
  }

  function writeObject(record: object): void {
    const keys = Object.keys(record)
    writeAll('{', keys, '}', (key) => {
      text += `${JSON.stringify(key.slice(0, maxChars))}:`
      write((record as Record<string, unknown>)[key])
    })
  }

  function writeAll<Item>(
    open: string,
    items: readonly Item[],
    close: string,
    writeItem: (item: Item) => void,
  ): void {
    text += open
    for (const [index, item] of items.entries()) {
      if (text.length >= maxChars) return
      if (index > 0) text += ','
      writeItem(item)
    }
    text += close
  }
}
