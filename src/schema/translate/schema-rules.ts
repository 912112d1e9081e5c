/** What a provider accepts in a tool's schema. The root is always a plain object. */
export interface SchemaRules {
  /** Keywords that pass; absent: all. */
  readonly keywords?: ReadonlySet<string>
  /** Formats that pass; absent: all. */
  readonly formats?: ReadonlySet<string>
  /** Whether `type` may be a list. */
  readonly typeLists: boolean
  readonly oneOf: boolean
  readonly allOf: boolean
  readonly const: boolean
  /** Which values an enum may hold. */
  readonly enumValues: 'all' | 'strings-and-numbers'
  /** The longest enum. */
  readonly maxEnumValues: number
  /** Whether tuples (`prefixItems`) pass. */
  readonly tuples: boolean
  /** Whether an array must say what its items are. */
  readonly needsItems: boolean
  /** Whether other keywords may stand beside `$ref`. */
  readonly refSiblings: boolean
  /** Whether a definition may refer to itself anywhere, or only below an optional property. */
  readonly recursion: 'anywhere' | 'below-optional'
  /** Whether every required property must be among the properties. */
  readonly declaresRequired: boolean
  /** What the keys of the arguments must look like; others are renamed, and renamed back in calls. */
  readonly propertyKeys?: RegExp
}

/** Anthropic validates against 2020-12 and takes all of it, below the root. */
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

/** OpenAI's own API without strict mode: nearly everything, but arrays must have items and enums an end. */
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

/** What every server that speaks OpenAI's or Anthropic's dialect understands. */
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
