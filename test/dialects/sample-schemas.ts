import type { JsonSchema } from '../../packages/core/src/tool.ts'

/** Schemas as they are met in the wild, each with what makes it hard. */
export const SAMPLE_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  anything: true,
  nothing: false,
  empty: {},
  'no type': { properties: { city: { type: 'string' } }, required: ['city'] },
  'wrong shapes': {
    type: 'object',
    properties: {
      a: { type: 'strin', minLength: -1, enum: [], description: 4 },
      b: { type: [], required: true, pattern: '(' },
      c: { type: 'number', minimum: '3', multipleOf: 0 },
      d: 'text',
    },
    required: 'a',
  },
  'top-level anyOf': {
    anyOf: [
      { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
      {
        type: 'object',
        properties: { name: { type: 'string' }, id: { type: 'integer' } },
        required: ['name'],
      },
    ],
  },
  'top-level oneOf of constants': {
    type: 'object',
    oneOf: [
      { properties: { kind: { const: 'a' }, x: { type: 'number' } }, required: ['kind', 'x'] },
      { properties: { kind: { const: 'b' }, y: { type: 'number' } }, required: ['kind', 'y'] },
    ],
  },
  'top-level allOf': {
    allOf: [
      { $ref: '#/definitions/Base' },
      { properties: { size: { type: 'integer', minimum: 1 } }, required: ['size'] },
    ],
    definitions: { Base: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] } },
  },
  'top-level ref': {
    $ref: '#/$defs/Query',
    $defs: { Query: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] } },
  },
  'root is a string': { type: 'string', description: 'a word' },
  'root refers to itself': {
    type: 'object',
    properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#' } } },
    required: ['name'],
  },
  'draft-07 tree': {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties: { tree: { $ref: '#/definitions/Node' } },
    required: ['tree'],
    definitions: {
      Node: {
        type: 'object',
        properties: {
          value: { type: ['string', 'null'] },
          left: { $ref: '#/definitions/Node' },
          right: { description: 'the right side', $ref: '#/definitions/Node' },
        },
        required: ['value'],
      },
    },
  },
  'required recursion': {
    type: 'object',
    properties: { filter: { $ref: '#/$defs/Filter' } },
    required: ['filter'],
    $defs: {
      Filter: {
        anyOf: [
          { type: 'object', properties: { field: { type: 'string' } }, required: ['field'] },
          {
            type: 'object',
            properties: { and: { type: 'array', items: { $ref: '#/$defs/Filter' } } },
            required: ['and'],
          },
        ],
      },
    },
  },
  'refs into properties': {
    type: 'object',
    properties: {
      first: { type: 'object', properties: { at: { type: 'string', format: 'date-time' } } },
      second: { $ref: '#/properties/first' },
      third: { $ref: '#/properties/first/properties/at', description: 'when' },
    },
  },
  'dangling and remote refs': {
    type: 'object',
    properties: { a: { $ref: '#/$defs/Gone' }, b: { $ref: 'https://example.com/schema.json' } },
  },
  tuples: {
    type: 'object',
    properties: {
      point: { type: 'array', items: [{ type: 'number' }, { type: 'number' }], additionalItems: false },
      pair: {
        type: 'array',
        prefixItems: [{ type: 'string' }, { type: 'integer' }],
        items: { type: 'boolean' },
      },
    },
  },
  'types and unions': {
    type: 'object',
    properties: {
      id: { type: ['string', 'integer'], minLength: 1, minimum: 0, description: 'the id' },
      level: { type: ['string', 'null'], enum: ['low', 'high', null] },
      flag: { const: true },
      nothing: { const: null },
      note: { type: 'string', nullable: true },
      any: {},
      list: { type: 'array' },
      both: { oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] },
      mixed: { allOf: [{ type: 'string' }, { maxLength: 5 }, { maxLength: 3 }] },
      never: false,
      always: true,
    },
    required: ['id', 'id', 'undeclared'],
  },
  formats: {
    type: 'object',
    properties: Object.fromEntries(
      ['date-time', 'date', 'email', 'uri', 'uuid', 'ipv4', 'made-up'].map((format) => [
        format,
        { type: 'string', format },
      ]),
    ),
  },
  'huge enum': {
    type: 'object',
    properties: {
      zone: { type: 'string', enum: Array.from({ length: 3_000 }, (_, index) => `zone-${index}`) },
    },
  },
  'old bounds and dependencies': {
    type: 'object',
    properties: {
      n: { type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false },
    },
    dependencies: { n: ['m'], m: { properties: { k: { type: 'string' } } } },
  },
  'hard keys': {
    type: 'object',
    properties: {
      __proto__x: { type: 'string' },
      constructor: { type: 'string' },
      'StartTime<': { type: 'string' },
      $filter: { type: 'string' },
      'a b': { type: 'string' },
      'über/~': { type: 'string' },
    },
    required: ['StartTime<', 'constructor'],
  },
  'rich keywords': {
    type: 'object',
    properties: {
      tags: { type: 'object', patternProperties: { '^x-': { type: 'string' } }, additionalProperties: false },
      code: {
        type: 'string',
        pattern: '^[A-Z]{3}$',
        minLength: 3,
        maxLength: 3,
        default: 'EUR',
        examples: ['USD'],
      },
      names: { type: 'object', propertyNames: { pattern: '^a' }, additionalProperties: { type: 'integer' } },
      not: { not: { type: 'string' } },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      choice: { if: { type: 'string' }, then: { minLength: 2 }, else: { minimum: 2 } },
      unique: { type: 'array', items: { type: 'string' }, uniqueItems: true, contains: { const: 'a' } },
      'x-order': { type: 'string', 'x-vendor': { deep: true } },
    },
    additionalProperties: false,
    minProperties: 1,
  },
}
