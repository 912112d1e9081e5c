/** One argument of a tool, in the order of reading. */
export interface SchemaRow {
  readonly path: string
  readonly name: string
  readonly depth: number
  readonly type: string
  readonly isRequired: boolean
  readonly description: string
  readonly constraints: string
}

const MAX_ROWS = 400
const MAX_DEPTH = 8

/** Flattens a JSON Schema into rows. Schemas are untrusted: depth and number are bounded. */
export function schemaRows(schema: unknown): SchemaRow[] {
  const rows: SchemaRow[] = []
  descend(schema, { path: '', depth: 0, root: schema }, rows)
  return rows
}

interface Spot {
  readonly path: string
  readonly depth: number
  readonly root: unknown
}

function descend(schema: unknown, { path, depth, root }: Spot, rows: SchemaRow[]): void {
  const { properties, required } = record(resolve(schema, root))
  const needed = Array.isArray(required) ? required : []
  for (const [name, given] of Object.entries(record(properties))) {
    if (rows.length >= MAX_ROWS || depth > MAX_DEPTH) return
    const own = record(resolve(given, root))
    const inner = path === '' ? name : `${path}.${name}`
    rows.push({
      path: inner,
      name,
      depth,
      type: typeOf(own, root),
      isRequired: needed.includes(name),
      description: typeof own.description === 'string' ? own.description : '',
      constraints: constraintsOf(own),
    })
    const items = record(resolve(own.items, root))
    descend(items.properties === undefined ? own : items, { path: inner, depth: depth + 1, root }, rows)
    for (const [index, choice] of choicesOf(own).entries())
      descend(choice, { path: `${inner}<${index}>`, depth: depth + 1, root }, rows)
  }
}

/** Follows a reference within the schema, one step; others stay as they are. */
export function resolve(schema: unknown, root: unknown): unknown {
  const { $ref } = record(schema)
  if (typeof $ref !== 'string' || !$ref.startsWith('#/')) return schema
  let found: unknown = root
  for (const key of $ref.slice(2).split('/')) {
    const table = record(found)
    const name = key.replaceAll('~1', '/').replaceAll('~0', '~')
    found = Object.hasOwn(table, name) ? table[name] : undefined
  }
  return found ?? schema
}

export function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}

function typeOf(schema: Readonly<Record<string, unknown>>, root: unknown): string {
  const { type, enum: values, items } = schema
  if (Array.isArray(values)) return 'one of'
  const choices = choicesOf(schema).map((each) => record(resolve(each, root)))
  if (choices.length > 0)
    return choices
      .map((each) => (typeof each.title === 'string' ? each.title.slice(0, 40) : typeOf(each, root)))
      .join(' or ')
  if (type === 'array') return `list of ${severalOf(typeOf(record(resolve(items, root)), root))}`
  if (Array.isArray(type)) return type.join(' or ')
  return typeof type === 'string' ? type : 'any'
}

/** `objects`, `strings`; what is not one word stays as it is. */
function severalOf(type: string): string {
  return PLAIN_TYPES.includes(type) ? `${type}s` : type
}

const PLAIN_TYPES = ['string', 'number', 'integer', 'object', 'boolean']
const MAX_CHOICES = 6

function choicesOf({ anyOf, oneOf }: Readonly<Record<string, unknown>>): readonly unknown[] {
  const choices = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : []
  return choices.slice(0, MAX_CHOICES)
}

const LIMITS = [
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'pattern',
  'format',
  'minItems',
  'maxItems',
] as const

function constraintsOf(schema: Readonly<Record<string, unknown>>): string {
  const parts: string[] = []
  if (Array.isArray(schema.enum))
    parts.push(
      schema.enum
        .slice(0, 20)
        .map((each) => JSON.stringify(each))
        .join(', '),
    )
  if (schema.default !== undefined) parts.push(`default ${JSON.stringify(schema.default)}`)
  for (const limit of LIMITS) if (schema[limit] !== undefined) parts.push(`${limit} ${String(schema[limit])}`)
  return parts.join(' · ').slice(0, 500)
}
