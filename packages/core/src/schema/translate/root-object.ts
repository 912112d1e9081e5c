import { isRecord } from '../../json.ts'
import { mergeSchemas, uniteObjects } from './merge-schemas.ts'
import { propertiesOf, type SchemaNode, stringsOf, type TellLoss, typesOf, without } from './schema-node.ts'

/**
 * Converts the root to a form that every provider accepts: `type: object`, without union, intersection, enum or
 * reference. The branches of a union become optional properties; the description says which belong together.
 */
export function toRootObject(schema: SchemaNode, tellLoss: TellLoss): SchemaNode {
  const definitions = isRecord(schema.$defs) ? schema.$defs : {}
  const root = flatten(schema, { definitions, tellLoss, steps: 0 }, new Set())
  const types = typesOf(root)
  if (types.length > 0 && !types.includes('object')) {
    tellLoss('', 'type', `arguments must be an object; the schema expects ${types.join(' or ')}`)
    const description = root.description === undefined ? {} : { description: root.description }
    return { type: 'object', ...description, properties: {} }
  }
  for (const keyword of ['enum', 'const', 'not']) {
    if (keyword in root) tellLoss('', keyword, 'not supported at the root')
  }
  const { $defs, ...rest } = without(root, 'enum', 'const', 'not', 'type', 'properties')
  return {
    type: 'object',
    properties: propertiesOf(root),
    ...rest,
    ...($defs === undefined ? {} : { $defs }),
  }
}

interface Walk {
  readonly definitions: Record<string, unknown>
  readonly tellLoss: TellLoss
  steps: number
}

/** More than any real root needs; definitions that each refer to the next one twice would grow exponentially. */
const MAX_STEPS = 200

/** The root without `$ref`, `allOf`, `anyOf` and `oneOf`. */
function flatten(node: SchemaNode, walk: Walk, followed: ReadonlySet<string>): SchemaNode {
  const { tellLoss, definitions } = walk
  const { $ref, allOf, anyOf, oneOf, ...plain } = node
  if (++walk.steps > MAX_STEPS) {
    tellLoss('', 'allOf', 'the root has too many parts')
    return plain
  }
  const branch = (schema: unknown, seen = followed) => flatten(isRecord(schema) ? schema : {}, walk, seen)
  let root: SchemaNode = plain
  if (typeof $ref === 'string') {
    const key = $ref.slice('#/$defs/'.length)
    if (followed.has(key)) tellLoss('', '$ref', 'the root refers to itself')
    else root = mergeSchemas(root, branch(definitions[key], new Set([...followed, key])), '', tellLoss)
  }
  for (const part of Array.isArray(allOf) ? allOf : []) root = mergeSchemas(root, branch(part), '', tellLoss)
  for (const [keyword, branches] of [
    ['anyOf', anyOf],
    ['oneOf', oneOf],
  ] as const) {
    if (!Array.isArray(branches)) continue
    const flat = branches.map((part) => branch(part))
    root = uniteInto(root, flat, keyword, tellLoss)
  }
  return root
}

function uniteInto(
  root: SchemaNode,
  branches: readonly SchemaNode[],
  keyword: string,
  tellLoss: TellLoss,
): SchemaNode {
  const objects = branches.filter((branch) => {
    const types = typesOf(branch)
    return types.length === 0 || types.includes('object')
  })
  if (objects.length === 0) {
    tellLoss('', keyword, 'none of its branches is an object')
    return root
  }
  const [only, ...others] = objects
  if (only !== undefined && others.length === 0) return mergeSchemas(root, only, '', tellLoss)
  tellLoss('', keyword, 'a union is not supported at the root; the properties of its branches are merged')
  const { properties, required } = uniteObjects(objects)
  const united = mergeSchemas(
    root,
    { properties, ...(required.length > 0 ? { required } : {}) },
    '',
    tellLoss,
  )
  const choice = describeChoice(objects, stringsOf(united.required))
  if (choice === '') return united
  const description = typeof united.description === 'string' ? `${united.description}\n` : ''
  return { ...united, description: `${description}${choice}` }
}

const MAX_CHOICE_CHARS = 400

/** A sentence such as `Provide either a, b or c.` that says which properties belong together. */
function describeChoice(branches: readonly SchemaNode[], always: readonly string[]): string {
  const needs = branches.map((branch) => stringsOf(branch.required).filter((name) => !always.includes(name)))
  const distinct = [...new Set(needs.map((names) => names.join(' and ')))].filter((names) => names !== '')
  if (distinct.length < 2) return ''
  const choice = `Provide either ${distinct.join(', or ')}.`
  return choice.length <= MAX_CHOICE_CHARS ? choice : ''
}
