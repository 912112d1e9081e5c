/** The subset of JSON Schema that a provider accepts. The root is always a plain object. */
export interface SchemaRules {
  /** Supported keywords; all if absent. */
  readonly keywords?: ReadonlySet<string>
  /** Supported formats; all if absent. */
  readonly formats?: ReadonlySet<string>
  /** Whether `type` may be a list. */
  readonly typeLists: boolean
  readonly oneOf: boolean
  readonly allOf: boolean
  readonly const: boolean
  /** Supported enum values. */
  readonly enumValues: 'all' | 'strings-and-numbers'
  /** Maximum number of enum values. */
  readonly maxEnumValues: number
  /** Whether tuples (`prefixItems`) are supported. */
  readonly tuples: boolean
  /** Whether an array must declare its items. */
  readonly needsItems: boolean
  /** Whether `$ref` may have sibling keywords. */
  readonly refSiblings: boolean
  /** Whether a definition may refer to itself anywhere, or only below an optional property. */
  readonly recursion: 'anywhere' | 'below-optional'
  /** Whether every required property must be declared in `properties`. */
  readonly declaresRequired: boolean
  /** Pattern for argument keys; other keys are renamed, and renamed back in calls. */
  readonly propertyKeys?: RegExp
}

/** Anthropic validates against 2020-12 and supports all of it below the root. */
export const ANTHROPIC_RULES: SchemaRules = {
  typeLists: true,
  oneOf: true,
  allOf: true,
  const: true,
  enumValues: 'all',
  maxEnumValues: Number.POSITIVE_INFINITY,
  tuples: true,
  needsItems: false,
  refSiblings: true,
  recursion: 'anywhere',
  declaresRequired: false,
  propertyKeys: /^[a-zA-Z0-9_.-]{1,64}$/,
}

/** OpenAI's own API without strict mode: nearly everything, but arrays need items and enums have a maximum size. */
export const OPENAI_RULES: SchemaRules = {
  typeLists: true,
  oneOf: true,
  allOf: true,
  const: true,
  enumValues: 'all',
  maxEnumValues: 1_000,
  tuples: true,
  needsItems: true,
  refSiblings: true,
  recursion: 'anywhere',
  declaresRequired: false,
}

const PLAIN_KEYWORDS = [
  'type',
  'title',
  'description',
  'properties',
  'required',
  'additionalProperties',
  'items',
  'minItems',
  'maxItems',
  'enum',
  'anyOf',
  'format',
  'minimum',
  'maximum',
  '$ref',
  '$defs',
] as const

/** The subset that every server with an OpenAI- or Anthropic-compatible API supports. */
export const COMPATIBLE_RULES: SchemaRules = {
  keywords: new Set([
    ...PLAIN_KEYWORDS,
    'default',
    'exclusiveMinimum',
    'exclusiveMaximum',
    'multipleOf',
    'minLength',
    'maxLength',
    'pattern',
    'uniqueItems',
  ]),
  typeLists: false,
  oneOf: false,
  allOf: false,
  const: false,
  enumValues: 'all',
  maxEnumValues: 1_000,
  tuples: false,
  needsItems: true,
  refSiblings: false,
  recursion: 'anywhere',
  declaresRequired: true,
  propertyKeys: /^[a-zA-Z0-9_.-]{1,64}$/,
}

/** Gemini's `parametersJsonSchema`: one keyword outside this list fails the whole request. */
export const GEMINI_RULES: SchemaRules = {
  keywords: new Set([...PLAIN_KEYWORDS, 'prefixItems', 'propertyOrdering']),
  formats: new Set(['date-time', 'int32', 'int64', 'float', 'double']),
  typeLists: false,
  oneOf: false,
  allOf: false,
  const: false,
  enumValues: 'strings-and-numbers',
  maxEnumValues: 500,
  tuples: true,
  needsItems: true,
  refSiblings: false,
  recursion: 'below-optional',
  declaresRequired: true,
  propertyKeys: /^[a-zA-Z0-9_.-]{1,64}$/,
}
