import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Validator } from '@cfworker/json-schema'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { recursiveSchema } from '../../../../../test/dialects/recursive-schemas.ts'
import { SAMPLE_SCHEMAS } from '../../../../../test/dialects/sample-schemas.ts'
import {
  checkAnthropicSchema,
  checkCompatibleSchema,
  checkGeminiSchema,
  checkOpenAiSchema,
} from '../../../../../test/dialects/wire-server/check-schema.ts'
import type { JsonSchema } from '../../tool.ts'
import { ANTHROPIC_RULES, COMPATIBLE_RULES, GEMINI_RULES, OPENAI_RULES } from './schema-rules.ts'
import { translateSchema } from './translate-schema.ts'

const PROVIDERS = [
  { provider: 'Anthropic', rules: ANTHROPIC_RULES, check: checkAnthropicSchema },
  { provider: 'OpenAI', rules: OPENAI_RULES, check: checkOpenAiSchema },
  { provider: 'compatible servers', rules: COMPATIBLE_RULES, check: checkCompatibleSchema },
  { provider: 'Gemini', rules: GEMINI_RULES, check: checkGeminiSchema },
]

describe.each(PROVIDERS)('a schema for $provider', ({ rules, check }) => {
  it.each(Object.entries(SAMPLE_SCHEMAS))('is accepted: %s', (_name, schema) => {
    expect(check(translateSchema(schema, rules).schema)).toBeUndefined()
  })

  it('has the same bytes every time', () => {
    for (const schema of Object.values(SAMPLE_SCHEMAS)) {
      const first = JSON.stringify(translateSchema(schema, rules).schema)
      expect(JSON.stringify(translateSchema(structuredClone(schema), rules).schema)).toBe(first)
    }
  })

  it('leaves a plain schema unchanged', () => {
    const plain = {
      type: 'object',
      properties: { city: { type: 'string', description: 'where' }, days: { type: 'integer', minimum: 1 } },
      required: ['city'],
    }
    expect(translateSchema(plain, rules)).toEqual({ schema: plain, lost: [], renamedKeys: new Map() })
  })

  it('accepts whatever the original accepts', () => {
    fc.assert(
      fc.property(anySchema, anyObject, (schema, value) => {
        const translated = translateSchema(schema, rules)
        expect(check(translated.schema)).toBeUndefined()
        if (!accepts(schema, value)) return
        const isAccepted = accepts(translated.schema, value)
        if (!isAccepted) expect({ schema, value, translated: translated.schema }).toBe('accepted')
      }),
      { numRuns: 200 },
    )
  })

  it('is accepted, and translates to itself, however its definitions recur', () => {
    fc.assert(
      fc.property(fc.oneof(recursiveSchema, anySchema), (schema) => {
        const once = translateSchema(schema, rules).schema
        expect(check(once)).toBeUndefined()
        expect(JSON.stringify(translateSchema(once, rules).schema)).toBe(JSON.stringify(once))
      }),
      { numRuns: 150 },
    )
  })

  it.each(Object.entries(SAMPLE_SCHEMAS))('translates to itself: %s', (_name, schema) => {
    const once = translateSchema(schema, rules).schema
    expect(JSON.stringify(translateSchema(once, rules).schema)).toBe(JSON.stringify(once))
  })

  const dumps = join(import.meta.dirname, '../../../../shared/data/mcp-dumps')
  it.skipIf(!existsSync(dumps))(
    'is accepted, and translates to itself, for every tool of the real catalogue',
    () => {
      const refused: string[] = []
      for (const { server, name, inputSchema } of catalogue(dumps)) {
        const { schema } = translateSchema(inputSchema, rules)
        const fault = check(schema)
        if (fault !== undefined) refused.push(`${server} ${name}: ${fault}`)
        const again = translateSchema(schema, rules).schema
        if (JSON.stringify(again) !== JSON.stringify(schema)) refused.push(`${server} ${name}: differs`)
      }
      expect(refused).toEqual([])
    },
  )
})

describe('what a translation keeps', () => {
  it('gives an enum its type where the union beside it accepts nothing', () => {
    const schema = { properties: { a: { enum: [1], anyOf: [false] } } }
    expect(translateSchema(schema, GEMINI_RULES).schema.properties.a).toEqual({ enum: [1], type: 'integer' })
  })

  it('cuts a recursion that only joining an allOf makes required, for Gemini', () => {
    const { schema, lost } = translateSchema(
      {
        properties: { a: { $ref: '#/$defs/node', anyOf: [{ $ref: '#/$defs/node' }] } },
        $defs: {
          node: { properties: { next: { $ref: '#/$defs/node' } }, allOf: [{ required: ['next'] }] },
        },
      },
      GEMINI_RULES,
    )
    expect(checkGeminiSchema(schema)).toBeUndefined()
    expect(lost.map(({ reason }) => reason)).toContain('recursion through a required value is not supported')
  })

  it('merges the branches of a root union and says which belong together', () => {
    const { schema, lost } = translateSchema(SAMPLE_SCHEMAS['top-level anyOf'] ?? {}, ANTHROPIC_RULES)
    expect(schema).toEqual({
      type: 'object',
      properties: { id: { anyOf: [{ type: 'string' }, { type: 'integer' }] }, name: { type: 'string' } },
      description: 'Provide either id, or name.',
    })
    expect(lost.map(({ path, keyword }) => ({ path, keyword }))).toEqual([{ path: '', keyword: 'anyOf' }])
  })

  it('merges a root allOf without loss', () => {
    const { schema, lost } = translateSchema(SAMPLE_SCHEMAS['top-level allOf'] ?? {}, ANTHROPIC_RULES)
    expect(schema).toMatchObject({
      properties: { id: { type: 'string' }, size: { type: 'integer', minimum: 1 } },
      required: ['id', 'size'],
    })
    expect(schema).not.toHaveProperty('$defs')
    expect(lost).toEqual([])
  })

  it('gives each type of a list its own keywords', () => {
    const { schema } = translateSchema(SAMPLE_SCHEMAS['types and unions'] ?? {}, COMPATIBLE_RULES)
    expect(schema.properties.id).toEqual({
      description: 'the id',
      anyOf: [
        { type: 'string', minLength: 1 },
        { type: 'integer', minimum: 0 },
      ],
    })
    expect(schema.properties.level).toEqual({
      anyOf: [{ type: 'string', enum: ['low', 'high'] }, { type: 'null' }],
    })
  })

  it('gives an enum its type where the values have one', () => {
    const properties = {
      kind: { const: 'a' },
      size: { enum: [1, 2] },
      ratio: { enum: [1, 2.5] },
      mixed: { enum: ['a', 1] },
      maybe: { enum: ['a', null] },
    }
    const { schema } = translateSchema({ type: 'object', properties }, COMPATIBLE_RULES)
    expect(schema.properties).toMatchObject({
      kind: { type: 'string', enum: ['a'] },
      size: { type: 'integer', enum: [1, 2] },
      ratio: { type: 'number', enum: [1, 2.5] },
    })
    expect(schema.properties.mixed).toEqual({ enum: ['a', 1] })
    const { schema: forGemini } = translateSchema({ type: 'object', properties }, GEMINI_RULES)
    expect(forGemini.properties.maybe).toEqual({
      anyOf: [{ type: 'string', enum: ['a'] }, { type: 'null' }],
    })
  })

  it('describes constraints that a provider has no keyword for', () => {
    const { schema, lost } = translateSchema(SAMPLE_SCHEMAS['rich keywords'] ?? {}, GEMINI_RULES)
    expect(schema.properties.code).toEqual({
      type: 'string',
      description: '(pattern ^[A-Z]{3}$; min length 3; max length 3; default EUR)',
    })
    expect(lost).toContainEqual({
      path: '/properties/code',
      keyword: 'pattern',
      reason: 'the keyword is not supported',
    })
  })

  it('removes siblings of a reference for Gemini, and keeps its description', () => {
    const { schema } = translateSchema(SAMPLE_SCHEMAS['draft-07 tree'] ?? {}, GEMINI_RULES)
    const node = schema.$defs as { Node: { properties: Record<string, unknown> } }
    expect(node.Node.properties.left).toEqual({ $ref: '#/$defs/Node' })
    expect(node.Node.properties.right).toEqual({
      description: 'the right side',
      anyOf: [{ $ref: '#/$defs/Node' }],
    })
  })

  it('renames keys a provider rejects, and maps them back', () => {
    const { schema, renamedKeys } = translateSchema(SAMPLE_SCHEMAS['hard keys'] ?? {}, ANTHROPIC_RULES)
    const renamed = [...renamedKeys].find(([, key]) => key === 'StartTime<')?.[0]
    expect(schema.required).toEqual([renamed, 'constructor'])
    expect(Object.keys(schema.properties)).toContain(renamed)
    expect([...renamedKeys.values()]).toEqual(['StartTime<', '$filter', 'a b', 'über/~'])
  })

  it('terminates for schemas that double with every step', () => {
    const steps = Array.from({ length: 40 }, (_, index) => index)
    const next = (index: number) => ({ $ref: `#/$defs/d${index + 1}` })
    const doubling = (keyword: string) => ({
      [keyword]: [next(-1), next(-1)],
      properties: { x: { allOf: [next(-1), {}] } },
      $defs: Object.fromEntries(
        steps.map((index) => [
          `d${index}`,
          {
            type: 'object',
            [keyword]: [next(index), next(index)],
            properties: { x: { allOf: [next(index), {}] }, y: { allOf: [next(index), {}] } },
          },
        ]),
      ),
    })
    for (const { rules, check } of PROVIDERS) {
      for (const keyword of ['anyOf', 'oneOf', 'allOf'])
        expect(check(translateSchema(doubling(keyword), rules).schema)).toBeUndefined()
      const itself = { properties: { x: { allOf: [{ $ref: '#' }, {}] } }, allOf: [{ $ref: '#' }, {}] }
      expect(check(translateSchema(itself, rules).schema)).toBeUndefined()
    }
  })

  it('keeps a property named __proto__', () => {
    const schema = JSON.parse('{"type":"object","properties":{"__proto__":{"type":["string","null"]}}}')
    const translated = translateSchema(schema, GEMINI_RULES).schema
    expect(Object.keys(translated.properties)).toEqual(['__proto__'])
  })
})

function accepts(schema: JsonSchema, value: unknown): boolean {
  // A round trip, since the validator adds marks to its input.
  return new Validator(JSON.parse(JSON.stringify(schema)), '2020-12').validate(value).valid
}

function* catalogue(folder: string): Generator<{ server: string; name: string; inputSchema: JsonSchema }> {
  for (const file of readdirSync(folder)) {
    if (!file.endsWith('.json') || file.startsWith('_')) continue
    const { tools } = JSON.parse(readFileSync(`${folder}/${file}`, 'utf8'))
    for (const { name, inputSchema } of tools) yield { server: file, name, inputSchema: inputSchema ?? {} }
  }
}

const anyLeaf = fc.oneof(
  fc.constant<unknown>(1),
  fc.constantFrom<unknown>('', 'a', 'ab', 'abc', null, true, false, 0, 1, 2.5, -1),
)
const anyValue = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    anyLeaf,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('value'), { maxKeys: 3 }),
  ),
})).value
const anyObject = fc.dictionary(fc.constantFrom('a', 'b', 'c'), anyValue, { maxKeys: 3 })

const anyNode = fc.letrec<{ node: Record<string, unknown> | boolean }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom<Record<string, unknown> | boolean>(true, false, {}, { $ref: '#/$defs/d' }),
    fc.record(
      {
        type: fc.constantFrom('string', 'integer', 'number', 'boolean', 'null'),
        minLength: fc.nat(2),
        maximum: fc.integer({ min: -1, max: 3 }),
      },
      { requiredKeys: [] },
    ),
    fc.record({
      type: fc.uniqueArray(fc.constantFrom('string', 'integer', 'object', 'array', 'null'), { minLength: 1 }),
      minimum: fc.nat(2),
    }),
    fc.record({ enum: fc.uniqueArray(anyLeaf, { minLength: 1, maxLength: 3 }) }),
    fc.record({ const: anyLeaf }),
    fc.record({
      type: fc.constant('array'),
      prefixItems: fc.array(tie('node'), { minLength: 1, maxLength: 2 }),
      items: fc.oneof(fc.constant(false), tie('node')),
    }),
    fc.record({ type: fc.constant('array'), items: tie('node') }),
    fc.record({ anyOf: fc.array(tie('node'), { minLength: 1, maxLength: 3 }) }),
    fc.record({ oneOf: fc.array(tie('node'), { minLength: 1, maxLength: 3 }) }),
    fc.record({ allOf: fc.array(tie('node'), { minLength: 1, maxLength: 3 }) }),
    fc.record(
      {
        type: fc.constantFrom('object', ['object', 'null']),
        properties: fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('node'), { maxKeys: 3 }),
        required: fc.uniqueArray(fc.constantFrom('a', 'b'), { maxLength: 2 }),
        additionalProperties: fc.oneof(fc.boolean(), tie('node')),
      },
      { requiredKeys: [] },
    ),
  ),
})).node

const anyProperties = fc.record(
  {
    type: fc.constant('object'),
    properties: fc.dictionary(fc.constantFrom('a', 'b', 'c'), anyNode, { maxKeys: 3 }),
    required: fc.uniqueArray(fc.constantFrom('a', 'b'), { maxLength: 2 }),
  },
  { requiredKeys: ['properties'] },
)

/**
 * Schemas with everything nested in everything, whose definitions refer to nothing. No unions at the root: a property
 * of a single branch keeps that branch's schema there, which guides the model better than accepting anything.
 */
const anySchema: fc.Arbitrary<Record<string, unknown>> = fc
  .record({
    root: fc.oneof(
      anyProperties,
      fc.record({ allOf: fc.array(anyProperties, { minLength: 1, maxLength: 3 }) }),
    ),
    definition: fc.constantFrom({ type: ['string', 'null'] }, { type: 'object', properties: { a: {} } }),
  })
  .map(({ root, definition }) => ({ ...root, $defs: { d: definition } }))
