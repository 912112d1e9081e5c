import { isRecord } from '../json.ts'
import type { JsonSchema } from '../tool.ts'

/**
 * The JSON Schema of a plain valibot schema, which cannot convert itself. Only the model sees it; the valibot schema
 * still validates every call. A part without a JSON Schema counterpart is shown as "anything" and validated at the
 * call.
 */
export function valibotJsonSchema(schema: unknown): JsonSchema {
  if (!isRecord(schema)) return {}
  const [base, actions] = Array.isArray(schema.pipe) ? [schema.pipe[0], schema.pipe.slice(1)] : [schema, []]
  const isArray = isRecord(base) && base.type === 'array'
  const shapes = actions.map((action) => actionSchema(action, isArray))
  return Object.assign({}, typeSchema(isRecord(base) ? base : schema), ...shapes)
}

function typeSchema(schema: Record<string, unknown>): JsonSchema {
  switch (schema.type) {
    case 'string':
    case 'number':
    case 'boolean':
    case 'null':
      return { type: schema.type }
    case 'literal':
      return { const: schema.literal }
    case 'picklist':
    case 'enum':
      return { enum: schema.options }
    case 'array':
      return { type: 'array', items: valibotJsonSchema(schema.item) }
    case 'record':
      return { type: 'object', additionalProperties: valibotJsonSchema(schema.value) }
    case 'union':
    case 'variant':
      return { anyOf: list(schema.options).map(valibotJsonSchema) }
    case 'intersect':
      return { allOf: list(schema.options).map(valibotJsonSchema) }
    case 'nullable':
      return { anyOf: [valibotJsonSchema(schema.wrapped), { type: 'null' }] }
    case 'optional':
    case 'exact_optional':
    case 'nullish':
      return withDefault(valibotJsonSchema(schema.wrapped), schema.default)
    case 'object':
    case 'loose_object':
    case 'strict_object':
      return objectSchema(schema)
    default:
      return {}
  }
}

function objectSchema({ type, entries }: Record<string, unknown>): JsonSchema {
  const members = Object.entries(isRecord(entries) ? entries : {})
  return {
    type: 'object',
    properties: Object.fromEntries(members.map(([key, member]) => [key, valibotJsonSchema(member)])),
    required: members.filter(([, member]) => !isOptional(member)).map(([key]) => key),
    ...(type === 'strict_object' ? { additionalProperties: false } : {}),
  }
}

function isOptional(member: unknown): boolean {
  return isRecord(member) && ['optional', 'exact_optional', 'nullish'].includes(String(member.type))
}

function withDefault(schema: JsonSchema, value: unknown): JsonSchema {
  return isRecord(schema) && value !== undefined && typeof value !== 'function'
    ? { ...schema, default: value }
    : schema
}

function actionSchema(action: unknown, isArray: boolean): object {
  if (!isRecord(action)) return {}
  const { type, requirement } = action
  if (type === 'description') return { description: action.description }
  if (type === 'title') return { title: action.title }
  if (type === 'integer') return { type: 'integer' }
  if (type === 'min_length') return isArray ? { minItems: requirement } : { minLength: requirement }
  if (type === 'max_length') return isArray ? { maxItems: requirement } : { maxLength: requirement }
  if (type === 'min_value') return { minimum: requirement }
  if (type === 'max_value') return { maximum: requirement }
  if (type === 'email' || type === 'uuid') return { format: type }
  if (type === 'url') return { format: 'uri' }
  return {}
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}
