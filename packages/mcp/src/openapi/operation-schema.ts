import type { JsonSchema } from '@toolcrib/core'
import { isRecord, setOwn } from '@toolcrib/core/internal'
import { type Node, type OpenApiDocument, pointerParts } from './document.ts'
import type { Operation, Parameter } from './operations.ts'

/** Where the arguments of a tool go in the request. */
export interface RequestParts {
  readonly parameters: ReadonlyMap<string, Parameter>
  /** The media type of the argument `body`, and how a form writes its fields. */
  readonly bodyType?: string
  readonly encoding?: Node
}

const BODY = 'body'
/** Of the types that an operation accepts, the first that fits is sent. */
const BODY_TYPES = [
  /[/+]json\b/i,
  /^application\/x-www-form-urlencoded/i,
  /^multipart\/form-data/i,
  /^text\//i,
  /./,
]

/** Keywords that say nothing about arguments, or that only OpenAPI has. */
const DROPPED = new Set([
  'xml',
  'externalDocs',
  'discriminator',
  'example',
  'examples',
  'nullable',
  'readOnly',
  'writeOnly',
])
/** Keywords whose value is a map of schemas, and those whose value is data. */
const MAPS = new Set(['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'])
const DATA = new Set(['enum', 'const', 'default', 'required', 'type'])

/** Writes the JSON Schemas of operations' arguments. Shared schemas are written once, under `$defs`. */
export class OperationSchemas {
  readonly #document: OpenApiDocument
  /** Each shared schema with the names of those that it refers to. */
  readonly #shared = new Map<string, { readonly schema: JsonSchema; readonly uses: ReadonlySet<string> }>()
  /** Names under `$defs`, by the pointer that they stand for. */
  readonly #names = new Map<string, string>()
  readonly #taken = new Set<string>()

  constructor(document: OpenApiDocument) {
    this.#document = document
  }

  /** Parameters side by side, the body apart; of two with one name, the later one has its place as a prefix. */
  of({ parameters, node }: Operation): { readonly schema: JsonSchema; readonly parts: RequestParts } {
    const properties: Record<string, JsonSchema> = {}
    const required: string[] = []
    const places = new Map<string, Parameter>()
    const uses = new Set<string>()
    const body = this.#bodyOf(node)
    for (const parameter of parameters) {
      const isTaken = (name: string) => places.has(name) || (body !== undefined && name === BODY)
      let key = parameter.name
      while (isTaken(key)) key = `${parameter.in}_${key}`
      places.set(key, parameter)
      setOwn(properties, key, this.#parameter(parameter, uses))
      if (parameter.in === 'path' || parameter.node.required === true) required.push(key)
    }
    if (body !== undefined) {
      setOwn(properties, BODY, described(this.#convert(body.schema, uses), body.description))
      if (body.isRequired) required.push(BODY)
    }
    const definitions = this.#definitions(uses)
    const schema = {
      type: 'object',
      properties,
      ...(required.length > 0 ? { required } : {}),
      ...(Object.keys(definitions).length > 0 ? { $defs: definitions } : {}),
      additionalProperties: false,
    }
    return {
      schema,
      parts: {
        parameters: places,
        ...(body === undefined ? {} : { bodyType: body.type, encoding: body.encoding }),
      },
    }
  }

  #parameter({ node }: Parameter, uses: Set<string>): JsonSchema {
    const [content] = isRecord(node.content) ? Object.values(node.content) : []
    const schema = node.schema ?? (isRecord(content) ? content.schema : undefined) ?? { type: 'string' }
    return described(this.#convert(schema, uses), node.description)
  }

  #bodyOf(operation: Node) {
    const request = this.#document.resolve(operation.requestBody)
    const content = isRecord(request?.content) ? request.content : {}
    const types = Object.keys(content).map((type) => (type === '*/*' ? 'application/json' : type))
    const type = BODY_TYPES.map((wanted) => types.find((each) => wanted.test(each))).find(
      (each) => each !== undefined,
    )
    if (request === undefined || type === undefined) return undefined
    const media = content[type] ?? content['*/*']
    const schema =
      (isRecord(media) ? media.schema : undefined) ?? (/json/i.test(type) ? {} : { type: 'string' })
    const encoding = isRecord(media) && isRecord(media.encoding) ? media.encoding : {}
    return { type, encoding, schema, description: request.description, isRequired: request.required === true }
  }

  #convert(node: unknown, uses: Set<string>): JsonSchema {
    if (typeof node === 'boolean') return node
    if (!isRecord(node)) return {}
    if (typeof node.$ref === 'string') return this.#reference(node.$ref, uses)
    const schema: Record<string, unknown> = {}
    for (const [keyword, value] of Object.entries(node)) {
      if (DROPPED.has(keyword) || keyword.startsWith('x-')) continue
      if (MAPS.has(keyword) && isRecord(value)) schema[keyword] = this.#map(value, uses)
      else if (DATA.has(keyword)) schema[keyword] = value
      else if (Array.isArray(value)) schema[keyword] = value.map((each) => this.#convert(each, uses))
      else schema[keyword] = isRecord(value) ? this.#convert(value, uses) : value
    }
    return modern(withoutAnswers(schema, node), node)
  }

  #map(schemas: Node, uses: Set<string>): Record<string, JsonSchema> {
    const converted: Record<string, JsonSchema> = {}
    for (const [name, schema] of Object.entries(schemas)) setOwn(converted, name, this.#convert(schema, uses))
    return converted
  }

  #reference(pointer: string, uses: Set<string>): JsonSchema {
    const target = this.#document.resolve({ $ref: pointer })
    // Another file, or nothing: any value.
    if (target === undefined) return {}
    const name = this.#nameOf(pointer)
    uses.add(name)
    if (!this.#shared.has(name)) {
      const own = new Set<string>()
      // Known before it is converted, since it may refer to itself.
      this.#shared.set(name, { schema: {}, uses: own })
      this.#shared.set(name, { schema: this.#convert(target, own), uses: own })
    }
    return { $ref: `#/$defs/${name}` }
  }

  #nameOf(pointer: string): string {
    const known = this.#names.get(pointer)
    if (known !== undefined) return known
    const plain = (pointerParts(pointer).at(-1) ?? '').replace(/[^A-Za-z0-9_.-]+/g, '_') || 'schema'
    let name = plain
    for (let count = 2; this.#taken.has(name); count++) name = `${plain}_${count}`
    this.#taken.add(name)
    this.#names.set(pointer, name)
    return name
  }

  /** The shared schemas that are needed, and those that they need. */
  #definitions(uses: ReadonlySet<string>): Record<string, JsonSchema> {
    const needed = new Set(uses)
    for (const name of needed) for (const other of this.#shared.get(name)?.uses ?? []) needed.add(other)
    const definitions: Record<string, JsonSchema> = {}
    for (const name of [...needed].sort()) setOwn(definitions, name, this.#shared.get(name)?.schema ?? {})
    return definitions
  }
}

function described(schema: JsonSchema, description: unknown): JsonSchema {
  if (typeof description !== 'string' || typeof schema === 'boolean') return schema
  return { ...schema, description }
}

/** Leaves out the properties that only answers have. */
function withoutAnswers(schema: Record<string, unknown>, { properties }: Node): Record<string, unknown> {
  if (!isRecord(properties) || !isRecord(schema.properties)) return schema
  const answered = Object.keys(properties).filter((name) => {
    const property = properties[name]
    return isRecord(property) && property.readOnly === true
  })
  if (answered.length === 0) return schema
  const kept = Object.entries(schema.properties).filter(([name]) => !answered.includes(name))
  const required = Array.isArray(schema.required)
    ? schema.required.filter((name) => !answered.includes(name))
    : []
  const { required: _, ...others } = schema
  return { ...others, properties: Object.fromEntries(kept), ...(required.length > 0 ? { required } : {}) }
}

/** The keywords that OpenAPI 3.0 spells in its own way. */
function modern(schema: Record<string, unknown>, { nullable }: Node): JsonSchema {
  const { exclusiveMinimum: above, exclusiveMaximum: below, minimum, maximum, ...others } = schema
  const limits = {
    ...(above === true ? { exclusiveMinimum: minimum } : minimum === undefined ? {} : { minimum }),
    ...(below === true ? { exclusiveMaximum: maximum } : maximum === undefined ? {} : { maximum }),
    ...(typeof above === 'number' ? { exclusiveMinimum: above } : {}),
    ...(typeof below === 'number' ? { exclusiveMaximum: below } : {}),
  }
  const plain = { ...others, ...limits }
  if (nullable !== true) return plain
  if (Array.isArray(schema.enum))
    return { ...plain, ...nullableType(schema.type), enum: [...new Set([...schema.enum, null])] }
  return typeof schema.type === 'string'
    ? { ...plain, ...nullableType(schema.type) }
    : { anyOf: [plain, { type: 'null' }] }
}

function nullableType(type: unknown) {
  return typeof type === 'string' ? { type: [type, 'null'] } : {}
}
