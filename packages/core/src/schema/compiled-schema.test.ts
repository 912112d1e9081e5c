import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JsonSchema } from '../tool.ts'
import { compileSchema } from './compile-schema.fixture.ts'

const compile = (schema: JsonSchema) => compileSchema(schema)
const verdict = (schema: JsonSchema, instance: unknown) => compile(schema).validate(instance).kind

describe('a hostile schema', () => {
  test('that is 20,000 levels deep is unusable, and says so', () => {
    let schema: JsonSchema = {}
    for (let level = 0; level < 20_000; level++) schema = { properties: { a: schema } }
    expect(compile(schema).unusable).toContain('levels deep')
  })

  test('that is cyclic is unusable', () => {
    const schema: Record<string, unknown> = { type: 'object' }
    schema.properties = { self: schema }
    expect(compile(schema).unusable).toContain('cyclic')
  })

  test('that shares parts to grow exponentially is unusable', () => {
    let schema: JsonSchema = { type: 'string' }
    for (let level = 0; level < 60; level++) schema = { allOf: [schema, schema] }
    expect(compile(schema).unusable).toContain('parts')
  })

  test('that refers to itself without end constrains nothing', () => {
    const compiled = compile({ $ref: '#' })
    expect(compiled.faults).toEqual(['$ref # has no target'])
    expect(compiled.validate({ a: 1 }).kind).toBe('valid')
  })

  test('that refers to itself properly validates recursive data', () => {
    const tree: JsonSchema = {
      type: 'object',
      properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#' } } },
    }
    expect(verdict(tree, { name: 'a', children: [{ name: 'b', children: [] }] })).toBe('valid')
    expect(verdict(tree, { name: 'a', children: [{ name: 5 }] })).toBe('invalid')
  })

  test('whose references multiply exceeds the budget, and the arguments are rejected', () => {
    const $defs: Record<string, JsonSchema> = { d0: { type: 'string' } }
    for (let level = 1; level <= 40; level++) {
      const below = { $ref: `#/$defs/d${level - 1}` }
      $defs[`d${level}`] = { allOf: [below, below] }
    }
    const compiled = compile({ $defs, properties: { a: { $ref: '#/$defs/d40' } } })
    expect(compiled.unusable).toBeUndefined()
    expect(compiled.validate({})).toEqual({ kind: 'valid' })
    expect(compiled.validate({ a: 'x' })).toMatchObject({
      kind: 'unchecked',
      reason: 'checking takes too much work',
    })
  })

  test('with a remote $ref is never fetched; that part constrains nothing', () => {
    const { fetch } = globalThis
    let isFetched = false
    globalThis.fetch = () => {
      isFetched = true
      return Promise.reject(new Error('offline'))
    }
    const compiled = compile({
      properties: { a: { $ref: 'https://evil.example/schema.json' }, b: { type: 'number' } },
    })
    expect(compiled.validate({ a: 'anything', b: 1 }).kind).toBe('valid')
    expect(compiled.validate({ b: 'x' }).kind).toBe('invalid')
    expect(compiled.faults).toEqual(['$ref https://evil.example/schema.json has no target'])
    globalThis.fetch = fetch
    expect(isFetched).toBe(false)
  })

  test('with a catastrophic pattern is decided in linear time', () => {
    const schema: JsonSchema = {
      properties: { a: { pattern: '^(a+)+$' } },
      patternProperties: { '^(b+)+$': { type: 'number' } },
    }
    const long = 'a'.repeat(50_000)
    expect(verdict(schema, { a: long })).toBe('valid')
    expect(verdict(schema, { a: `${long}!` })).toBe('invalid')
    expect(verdict(schema, { [`${'b'.repeat(50_000)}!`]: 'x' })).toBe('valid')
    expect(verdict(schema, { bbb: 'x' })).toBe('invalid')
  })

  test('with a catastrophic format is decided in linear time', () => {
    expect(verdict({ properties: { a: { format: 'url' } } }, { a: `http://${'a'.repeat(5_000)}!` })).toBe(
      'valid',
    )
  })

  test('with huge patterns leaves them out', () => {
    const compiled = compile({ properties: { a: { pattern: '[\\w\\W]{0,1000}'.repeat(100) } } })
    expect(compiled.faults).toEqual(['#/properties/a/pattern is too large'])
  })

  test('of 84 KB is evaluated like any other', () => {
    const properties = Object.fromEntries(
      Array.from({ length: 700 }, (_, n) => [
        `property_${n}`,
        { type: 'string', description: 'x'.repeat(80) },
      ]),
    )
    const schema: JsonSchema = { type: 'object', properties }
    expect(JSON.stringify(schema).length).toBeGreaterThan(84_000)
    expect(verdict(schema, { property_699: 1 })).toBe('invalid')
  })

  test('with malformed keywords is used without them', () => {
    const broken: [string, unknown][] = [
      ['enum', []],
      ['enum', 'x'],
      ['type', 'strng'],
      ['type', []],
      ['type', 5],
      ['required', 'a'],
      ['required', [1]],
      ['properties', null],
      ['properties', { a: 5 }],
      ['properties', []],
      ['items', 'x'],
      ['allOf', []],
      ['anyOf', {}],
      ['oneOf', [5]],
      ['pattern', '('],
      ['pattern', 5],
      ['minLength', '3'],
      ['multipleOf', 0],
      ['$ref', 5],
      ['$ref', 'http://['],
      ['$id', 'http://['],
      ['format', {}],
      ['not', 7],
      ['dependentRequired', { a: 'b' }],
      ['patternProperties', { '(': {} }],
      ['patternProperties', 'x'],
      ['dependencies', 5],
      ['if', null],
      ['__absolute_ref__', {}],
      ['$defs', 4],
      ['const', undefined],
      ['additionalProperties', 'no'],
      ['uniqueItems', 'yes'],
    ]
    for (const [keyword, value] of broken) {
      const compiled = compile({ type: 'object', [keyword]: value })
      expect([keyword, compiled.unusable, compiled.validate({ a: 'x' }).kind]).toEqual([
        keyword,
        undefined,
        'valid',
      ])
    }
  })

  test('never makes anything throw, whatever it is', () => {
    const keywords = [
      'type',
      'properties',
      'items',
      'required',
      '$ref',
      'anyOf',
      'allOf',
      'not',
      'enum',
      'pattern',
      'format',
      '$id',
      'patternProperties',
      'additionalProperties',
      'minimum',
      '$defs',
      'if',
      'then',
      'contains',
      '$recursiveRef',
      'prefixItems',
    ]
    const { node } = fc.letrec((tie) => ({
      node: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom<unknown>(
          'string',
          'object',
          '#',
          '#/$defs/a',
          '(',
          'url',
          3,
          -1,
          null,
          true,
          false,
          [],
          {},
        ),
        fc.array(tie('node'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom(...keywords, 'a', '__proto__'), tie('node'), { maxKeys: 5 }),
      ),
    }))
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom(...keywords), node, { maxKeys: 6 }),
        fc.jsonValue(),
        (schema, instance) => {
          const kind = compile(schema as JsonSchema).validate(instance).kind
          expect(['valid', 'invalid', 'unchecked']).toContain(kind)
        },
      ),
      { numRuns: 500 },
    )
  })

  test('is not changed by being compiled, even when frozen', () => {
    const schema = Object.freeze({
      type: 'object',
      properties: Object.freeze({ a: Object.freeze({ $ref: '#' }) }),
    })
    expect(compile(schema).validate({ a: { a: {} } }).kind).toBe('valid')
    expect(Object.getOwnPropertyNames(schema)).toEqual(['type', 'properties'])
  })
})

describe('uniqueItems', () => {
  const schema: JsonSchema = {
    properties: { a: { type: 'array', uniqueItems: true, items: { uniqueItems: true } } },
  }

  test('detects equal items regardless of key order', () => {
    expect(
      verdict(schema, {
        a: [
          { x: 1, y: 2 },
          { x: 1, y: 3 },
        ],
      }),
    ).toBe('valid')
    expect(
      verdict(schema, {
        a: [
          { x: 1, y: 2 },
          { y: 2, x: 1 },
        ],
      }),
    ).toBe('invalid')
    expect(verdict(schema, { a: [1, '1', true, null, [1], []] })).toBe('valid')
    expect(
      verdict(schema, {
        a: [
          [1, 2],
          [3, 3],
        ],
      }),
    ).toBe('invalid')
    expect(verdict(schema, { a: 5 })).toBe('invalid')
  })

  test('takes linear time', () => {
    expect(verdict(schema, { a: Array.from({ length: 20_000 }, (_, n) => ({ n })) })).toBe('valid')
  })
})

describe('patterns', () => {
  test('with lookaheads at their beginning are tested in linear time too', () => {
    const rule = compile({ properties: { a: { pattern: '^(?!secret)(?=.*[0-9])(?=.*[)])[\\w)]+$' } } })
    const kindOf = (a: string) => rule.validate({ a }).kind
    expect(rule.faults).toEqual([])
    expect(['x1)', 'secret1)', 'x)', 'x1', 'x 1)'].map(kindOf)).toEqual([
      'valid',
      'invalid',
      'invalid',
      'invalid',
      'invalid',
    ])
    const slow = compile({ properties: { a: { pattern: '^(?=(a+)+$)a+$' } } })
    expect(slow.validate({ a: `${'a'.repeat(5_000)}!` }).kind).toBe('invalid')
  })

  test('that cannot be tested in linear time are left out, whoever wrote them', () => {
    for (const pattern of ['a(?=b)', '^(?!a)b|c', '^(?=a)?b', '(a)\\1', '(?<!a)b']) {
      const schema = compile({ properties: { a: { pattern } } })
      expect(schema.faults[0]).toContain('cannot be evaluated safely')
      expect(schema.validate({ a: 'anything' }).kind).toBe('valid')
    }
  })

  test('of a hundred thousand faults, only the first are reported', () => {
    const items = Array.from({ length: 150_000 }, () => 'x')
    const schema = compile({ type: 'array', items: { type: 'object' } })
    expect(schema.validate(items).kind).toBe('invalid')
    expect(schema.faultsOf(items).kept[0]).toMatchObject({ keyword: 'type', path: ['0'], given: 'x' })
  })

  test('apply only to strings, and together with an enum', () => {
    const schema: JsonSchema = { properties: { a: { pattern: '^x', enum: ['xa', 'b', 5] } } }
    expect(verdict(schema, { a: 'xa' })).toBe('valid')
    expect(verdict(schema, { a: 'b' })).toBe('invalid')
    expect(verdict(schema, { a: 5 })).toBe('valid')
    expect(verdict(schema, { a: 'xc' })).toBe('invalid')
  })

  test('apply to every item, also to equal ones', () => {
    const schema: JsonSchema = { items: { pattern: '^x' } }
    expect(verdict(schema, ['xa', 'xa', 'xb'])).toBe('valid')
    expect(verdict(schema, ['xa', 'y', 'xa'])).toBe('invalid')
  })

  test('agree with the platform’s on what both can express', () => {
    const pattern = fc.constantFrom(
      '^a+$',
      'b',
      '^[a-c]{2,3}$',
      '(ab|c)d?',
      '\\d',
      '^\\w+$',
      '^.$',
      'a$',
      '[^a]',
    )
    fc.assert(
      fc.property(
        pattern,
        fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'd', '1', ' ', 'é') }),
        (source, text) => {
          expect(verdict({ properties: { x: { pattern: source } } }, { x: text }) === 'valid').toBe(
            new RegExp(source, 'u').test(text),
          )
        },
      ),
    )
  })

  test('for property names decide which schema applies, with additionalProperties for the rest', () => {
    const schema: JsonSchema = {
      patternProperties: { '^x-': { type: 'number' }, y$: { minimum: 5 } },
      additionalProperties: false,
    }
    expect(verdict(schema, { 'x-a': 1 })).toBe('valid')
    expect(verdict(schema, { 'x-a': 'n' })).toBe('invalid')
    expect(verdict(schema, { 'x-y': 7 })).toBe('valid')
    expect(verdict(schema, { 'x-y': 3 })).toBe('invalid')
    expect(verdict(schema, { other: 1 })).toBe('invalid')
    expect(verdict(schema, { 'x-(.*': 1, 'x-|/{}': 2 })).toBe('valid')
  })

  test('for propertyNames test the names', () => {
    const schema: JsonSchema = { propertyNames: { pattern: '^[a-z]+$' } }
    expect(verdict(schema, { abc: 1 })).toBe('valid')
    expect(verdict(schema, { ABC: 1 })).toBe('invalid')
  })

  test('stay apart from one instance to the next', () => {
    const compiled = compile({ patternProperties: { '^x': { type: 'number' } } })
    expect(compiled.validate({ xa: 'n' }).kind).toBe('invalid')
    expect(compiled.validate({ ya: 'n' }).kind).toBe('valid')
    expect(compiled.validate({ xb: 'n' }).kind).toBe('invalid')
  })
})
