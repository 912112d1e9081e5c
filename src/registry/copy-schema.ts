import { ToolcribError } from '../errors.ts'
import { isRecord } from '../json.ts'
import { withoutHidden } from '../names.ts'
import type { JsonSchema } from '../tool.ts'

/** Deeper than any real schema, shallow enough for every recursive reader that comes after. */
const MAX_DEPTH = 200
/** The largest real schema seen has about 9,000 values. */
const MAX_VALUES = 200_000

/**
 * A frozen copy of a schema, so that nobody changes it after registration. Hidden characters are stripped from
 * the texts a model reads; what is not JSON, too deep or cyclic is refused with `config-invalid`.
 */
export function copySchema(schema: unknown, owner: string): JsonSchema {
  if (typeof schema === 'boolean') return schema
  if (!isRecord(schema)) throw refuse(owner, 'must be a JSON Schema: an object or a boolean')
  if ('~standard' in schema) throw refuse(owner, 'is a Standard Schema; wrap the tool with defineTool()')
  const copy = copyValue(schema, { owner, values: 0 }, 0, '')
  return isRecord(copy) ? copy : true
}

interface Walk {
  readonly owner: string
  values: number
}

function copyValue(value: unknown, walk: Walk, depth: number, key: string): unknown {
  if (depth > MAX_DEPTH) throw refuse(walk.owner, `is cyclic or more than ${MAX_DEPTH} levels deep`)
  if (++walk.values > MAX_VALUES) throw refuse(walk.owner, `holds more than ${MAX_VALUES} values`)
  if (typeof value === 'string')
    return key === 'description' || key === 'title' ? withoutHidden(value) : value
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value
  if (Array.isArray(value)) {
    return Object.freeze(value.map((item) => copyValue(item, walk, depth + 1, '') ?? null))
  }
  if (!isRecord(value)) throw refuse(walk.owner, `holds a ${typeof value}, which is not JSON`)
  const entries = Object.entries(value).filter(([, nested]) => nested !== undefined)
  const copies = entries.map(([name, nested]) => [name, copyValue(nested, walk, depth + 1, name)] as const)
  return Object.freeze(Object.fromEntries(copies))
}

function refuse(owner: string, reason: string): ToolcribError {
  return new ToolcribError('config-invalid', `the schema of "${owner}" ${reason}`)
}
