import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readArguments } from '../json.ts'
import type { JsonSchema } from '../tool.ts'
import { SchemaCache } from './check-arguments.ts'
import { checkOutput } from './check-output.ts'
import { checkArguments, compileSchema } from './compile-schema.fixture.ts'
import { checkBudget } from './compiled-schema.ts'

const check = (schema: JsonSchema, args: unknown) => checkArguments(compileSchema(schema), args)
const accepted = (schema: JsonSchema, args: unknown) => {
  const checked = check(schema, args)
  return checked.ok ? checked.args : checked.error
}
const object = (properties: Record<string, unknown>, more: Record<string, unknown> = {}): JsonSchema => ({
  type: 'object',
  properties,
  ...more,
})

describe('arguments', () => {
  test('that are missing count as an empty object', () => {
    expect(accepted(object({}), undefined)).toEqual({})
    expect(accepted(object({}), null)).toEqual({})
    expect(accepted(object({}), '')).toEqual({})
    expect(accepted(object({}), ' \n')).toEqual({})
  })

  test('that came as a JSON string are read', () => {
    expect(accepted(object({ a: { type: 'number' } }), '{"a":1}')).toEqual({ a: 1 })
    expect(accepted(object({}), 'not json')).toBe('arguments: expected object, got string ("not json")')
  })

  test('with too many keys in a JSON string are not read', () => {
    const text = JSON.stringify(Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`k${at}`, 1])))
    expect(accepted(object({}), text)).toMatch(/^arguments: expected object, got string/)
    expect(accepted(object({ a: { type: 'object' } }), { a: text })).toMatch(
      /^a: expected object, got string/,
    )
    expect(accepted(object({ a: { type: 'object' } }), { a: '{"k":1}' })).toEqual({ a: { k: 1 } })
  })

  test('are the tool’s own copy, with a key called __proto__ like any other', () => {
    const given = JSON.parse('{"a":{"b":[1]},"__proto__":{"polluted":true}}')
    const args = accepted(true, given) as typeof given
    expect(args).toEqual(given)
    expect(args.a).not.toBe(given.a)
    expect(Object.hasOwn(args, '__proto__')).toBe(true)
    expect(args.polluted).toBeUndefined()
  })

  test('that are not JSON are rejected with the reason', () => {
    const cyclic: Record<string, unknown> = {}
    cyclic.self = cyclic
    expect(accepted(true, cyclic)).toBe('arguments: invalid JSON: it is cyclic or more than 200 levels deep')
    expect(accepted(true, { n: 1n })).toContain('a bigint is not JSON')
    expect(accepted(true, { n: Number.NaN })).toContain('NaN is not a JSON number')
    expect(accepted(true, { f: () => 1 })).toContain('a function is not JSON')
    let deep: unknown = 1
    for (let level = 0; level < 20_000; level++) deep = [deep]
    expect(accepted(true, deep)).toContain('200 levels deep')
  })

  test('survive any JSON unchanged under a schema that allows everything', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), (args) => {
        expect(accepted(true, args)).toEqual(args)
      }),
    )
  })
})

describe('arguments that cannot be checked in bounded time', () => {
  test('are rejected rather than accepted', () => {
    const items = { items: { $ref: '#/$defs/tree' } }
    const schema = object(
      { a: { $ref: '#/$defs/tree' } },
      { $defs: { tree: { type: ['array', 'string'], anyOf: [items, items] } } },
    )
    let deep: unknown = 5
    for (let level = 0; level < 150; level++) deep = [deep]
    expect(check(schema, { a: [['x']] })).toMatchObject({ ok: true })
    expect(check(schema, { a: deep })).toMatchObject({ error: expect.stringContaining('cannot be checked') })
  })

  test('are rejected too if only correcting them made them expensive', () => {
    const kinds = Array.from({ length: 300 }, (_, n) => ({
      properties: { kind: { const: n } },
      required: ['kind'],
    }))
    const schema = object({
      n: { type: 'integer' },
      rows: { items: { anyOf: [...kinds, { type: 'object' }] } },
    })
    const rows = Array.from({ length: 5_000 }, () => ({ kind: 'x' }))
    expect(check(schema, { n: '1', rows })).toMatchObject({
      error: expect.stringContaining('cannot be checked'),
    })
    expect(check(schema, { n: '1', rows: rows.slice(0, 5) })).toMatchObject({ ok: true })
  })

  test('are accepted if the whole schema is unusable', () => {
    expect(check({ allOf: [{ $ref: '#' }] }, { any: 'thing' })).toEqual({ ok: true, args: { any: 'thing' } })
  })

  test('a malformed property name cannot bypass the schema', () => {
    const schema = object({ n: { type: 'number' } }, { additionalProperties: { type: 'number' } })
    expect(check(schema, { '\ud800': 'x' })).toMatchObject({ ok: false })
  })
})

describe('mistakes of models are corrected where nothing is lost', () => {
  const cases: [string, unknown, unknown, unknown][] = [
    ['a number in quotes', { type: 'number' }, '3.5', 3.5],
    ['a negative exponent', { type: 'number' }, '-1e-3', -0.001],
    ['an integer in quotes', { type: 'integer' }, '42', 42],
    ['a boolean in quotes', { type: 'boolean' }, 'true', true],
    ['a boolean as Python writes it', { type: 'boolean' }, 'False', false],
    ['an object in quotes', { type: 'object' }, '{"a":1}', { a: 1 }],
    ['an array in quotes', { type: 'array', items: { type: 'number' } }, '[1,"2"]', [1, 2]],
    ['one value for a list of such', { type: 'array', items: { type: 'string' } }, 'a', ['a']],
    ['one number in quotes for a list of numbers', { type: 'array', items: { type: 'number' } }, '7', [7]],
    ['one object for a list of objects', { type: 'array', items: { type: 'object' } }, { a: 1 }, [{ a: 1 }]],
    ['a union of types', { type: ['number', 'null'] }, '5', 5],
    ['an alternative', { anyOf: [{ type: 'number' }, { type: 'boolean' }] }, 'true', true],
    ['a reference', { $ref: '#/$defs/n' }, '9', 9],
    ['a part of allOf', { allOf: [{ type: 'integer' }, { minimum: 3 }] }, '4', 4],
  ]
  for (const [what, schema, given, expected] of cases) {
    test(`${what}`, () => {
      expect(accepted(object({ x: schema }, { $defs: { n: { type: 'number' } } }), { x: given })).toEqual({
        x: expected,
      })
    })
  }

  test('null for an optional property omits it', () => {
    expect(accepted(object({ x: { type: 'number' } }), { x: null })).toEqual({})
    expect(accepted(object({ x: { type: ['number', 'null'] } }), { x: null })).toEqual({ x: null })
    expect(accepted(object({ x: { type: 'number' } }, { required: ['x'] }), { x: null })).toBe(
      'x: expected number, got null',
    )
  })

  test('deep inside lists and objects too', () => {
    const schema = object({ rows: { type: 'array', items: object({ n: { type: 'integer' } }) } })
    expect(accepted(schema, { rows: [{ n: '1' }, { n: 2 }] })).toEqual({ rows: [{ n: 1 }, { n: 2 }] })
  })
})

describe('a compiled schema', () => {
  const noted = async (schema: unknown) => {
    const faults: string[][] = []
    const cache = new SchemaCache()
    await cache.loadRareChecks()
    const compile = () => cache.compile(schema as JsonSchema, (found) => faults.push([...found]))
    return { first: compile(), second: compile(), faults }
  }

  test('is compiled once, and its faults are reported once', async () => {
    const { first, second, faults } = await noted({ properties: { a: { enum: [] } } })
    expect(second).toBe(first)
    expect(faults).toEqual([['#/properties/a/enum has an invalid value']])
    expect((await noted({ type: 'object' })).faults).toEqual([])
  })

  test.each([
    { properties: { a: { pattern: '^x' } } },
    { patternProperties: { '^x': {} } },
    { items: { format: 'date' } },
    { uniqueItems: true },
    { multipleOf: 5 },
    { $defs: { a: {} }, properties: { a: { $ref: '#/$defs/a' } } },
  ])('is never checked without what its keywords need: %j', async (schema) => {
    const cache = new SchemaCache()
    expect(cache.lacksRareChecks(schema)).toBe(true)
    expect(() => cache.compile(schema, () => {})).toThrow('loadRareChecks() was not called')
    await cache.loadRareChecks()
    expect(cache.lacksRareChecks(schema)).toBe(false)
    expect(cache.compile(schema, () => {}).faults).toEqual([])
  })

  test('that is unusable is reported by its reason alone', async () => {
    const { first, faults } = await noted({ allOf: [{ $ref: '#' }], enum: [] })
    expect(faults).toEqual([[first.unusable]])
    expect(first.unusable).toContain('levels deep')
  })

  test('is what it says for true, false and what is not a schema', () => {
    const cache = new SchemaCache()
    const kind = (schema: unknown) => cache.compile(schema as JsonSchema, () => {}).validate({}).kind
    expect([true, false, undefined, 'x'].map(kind)).toEqual(['valid', 'invalid', 'valid', 'valid'])
  })
})

describe('lossy corrections are not made', () => {
  test('valid arguments are never changed', () => {
    const schema = object(
      {},
      { patternProperties: { '^x-': { type: 'string' } }, additionalProperties: { type: 'number' } },
    )
    expect(accepted(schema, { 'x-a': '3' })).toEqual({ 'x-a': '3' })
  })

  test('a text stays a text, whatever it looks like', () => {
    for (const text of ['3', 'true', 'null', '{"a":1}', '[1]', ''])
      expect(accepted(object({ x: { type: 'string' } }), { x: text })).toEqual({ x: text })
    expect(accepted(object({ x: { type: ['string', 'number'] } }), { x: '3' })).toEqual({ x: '3' })
    expect(accepted(object({ x: {} }), { x: '3' })).toEqual({ x: '3' })
  })

  test('only JSON numbers become numbers', () => {
    const schema = object({ x: { type: 'number' } })
    for (const text of [
      '',
      ' ',
      '0x10',
      '007',
      '1_000',
      '+3',
      ' 3',
      '3 ',
      'Infinity',
      'NaN',
      '1e999',
      '.5',
      '5.',
      '٣',
    ])
      expect(check(schema, { x: text })).toMatchObject({ ok: false })
  })

  test('digits that a number cannot hold are not dropped', () => {
    expect(check(object({ x: { type: 'integer' } }), { x: '12345678901234567890' })).toMatchObject({
      ok: false,
    })
    expect(check(object({ x: { type: 'integer' } }), { x: '3.5' })).toMatchObject({ ok: false })
  })

  test('numbers do not become texts or booleans', () => {
    expect(accepted(object({ city: { type: 'string' } }), { city: 42 })).toBe(
      'city: expected string, got number (42)',
    )
    expect(check(object({ x: { type: 'boolean' } }), { x: 1 })).toMatchObject({ ok: false })
  })

  test('a single value of the wrong type is not wrapped', () => {
    expect(check(object({ x: { type: 'array', items: { type: 'number' } } }), { x: 'many' })).toMatchObject({
      ok: false,
    })
  })

  test('any number that JSON writes comes back as the same number', () => {
    fc.assert(
      fc.property(fc.integer(), (n) => {
        expect(accepted(object({ x: { type: 'number' } }), { x: JSON.stringify(n) })).toEqual({ x: n })
      }),
    )
  })
})

describe('an error', () => {
  const schema = object(
    {
      city: { type: 'string' },
      file_path: { type: 'string' },
      days: { type: 'integer', minimum: 1, maximum: 14 },
      units: { enum: ['metric', 'imperial'] },
      code: { type: 'string', pattern: '^[A-Z]{3}$' },
      tags: { type: 'array', items: { type: 'string' }, maxItems: 2 },
      where: { anyOf: [{ type: 'string' }, object({ lat: { type: 'number' } }, { required: ['lat'] })] },
      at: { type: 'string', format: 'date-time' },
      kind: { const: 'x' },
      ids: { type: 'array', uniqueItems: true },
    },
    { required: ['city'], additionalProperties: false },
  )
  const cases: [string, unknown, string][] = [
    ['names what is missing', {}, 'city: required (string) but missing'],
    ['names the type', { city: 42 }, 'city: expected string, got number (42)'],
    [
      'names the nearest property',
      { city: '', filePath: 'x' },
      'filePath: unknown property; did you mean "file_path"?',
    ],
    ['names none when none is near', { city: '', zebra: 1 }, 'zebra: unknown property'],
    ['names the bound', { city: '', days: 15 }, 'days: expected at most 14, got number (15)'],
    [
      'names the choices',
      { city: '', units: 'k' },
      'units: expected one of "metric", "imperial", got string ("k")',
    ],
    [
      'names the pattern',
      { city: '', code: 'abc' },
      'code: expected a string that matches /^[A-Z]{3}$/, got string ("abc")',
    ],
    ['names the index', { city: '', tags: ['a', 1] }, 'tags.1: expected string, got number (1)'],
    [
      'names the count',
      { city: '', tags: ['a', 'b', 'c'] },
      'tags: expected at most 2 items, got array (["a","b","c"])',
    ],
    [
      'names all types of a union',
      { city: '', where: 5 },
      'where: expected string or object, got number (5)',
    ],
    [
      'looks into the alternative that was meant',
      { city: '', where: {} },
      'where.lat: required (number) but missing',
    ],
    ['names duplicates', { city: '', ids: [1, 2, 1] }, 'ids: expected unique items, got array ([1,2,1])'],
    ['names the format', { city: '', at: 'soon' }, 'at: expected the format date-time, got string ("soon")'],
    ['names the constant', { city: '', kind: 'y' }, 'kind: expected "x", got string ("y")'],
  ]
  for (const [what, args, error] of cases) {
    test(what, () => expect(check(schema, args)).toEqual({ ok: false, error }))
  }

  test('lists a handful of faults at most', () => {
    const many = object(
      Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`p${n}`, { type: 'string' }])),
    )
    const args = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`p${n}`, n]))
    const checked = check(many, args)
    expect(checked.ok ? '' : checked.error).toMatch(/^p0: .*; p4: [^;]*; and 25 more$/)
  })

  test('shows only the beginning of a long value', () => {
    const checked = check(object({ n: { type: 'number' } }), { n: 'x'.repeat(10_000) })
    expect(checked.ok ? '' : checked.error.length).toBeLessThan(200)
  })
})

describe('both drafts', () => {
  test('2020-12 by default: prefixItems', () => {
    const schema = object({
      pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], items: false },
    })
    expect(check(schema, { pair: ['a', 1] }).ok).toBe(true)
    expect(check(schema, { pair: ['a', 1, 2] }).ok).toBe(false)
  })

  test('draft-07 by $schema: siblings of a $ref are ignored', () => {
    const draft7: JsonSchema = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      definitions: { text: { type: 'string' } },
      properties: { a: { $ref: '#/definitions/text', maxLength: 1 } },
    }
    expect(check(draft7, { a: 'long' }).ok).toBe(true)
    expect(
      check({ ...draft7, $schema: 'https://json-schema.org/draft/2020-12/schema' }, { a: 'long' }).ok,
    ).toBe(false)
  })

  test('a schema that allows no value says so of the whole', () => {
    expect(checkOutput(compileSchema(false), [])).toEqual({
      kind: 'invalid',
      error: 'structured content: the schema allows no value',
    })
    expect(accepted(object({}, { additionalProperties: false }), { '': 1 })).toBe('"": unknown property')
  })

  test('boolean schemas', () => {
    expect(check(true, { a: 1 }).ok).toBe(true)
    expect(check(false, {}).ok).toBe(false)
  })
})

describe('arguments as they are read', () => {
  test('are themselves, or what their text says', () => {
    const given = [undefined, null, '', ' \n', '{"a":1}', '[1]', 'x', 5, false]
    expect(given.map(readArguments)).toEqual([{}, {}, {}, {}, { a: 1 }, [1], 'x', 5, false])
  })

  test('are masked in errors', () => {
    const mask = (text: string) => text.replaceAll('hunter2', '***')
    const schema = compileSchema(object({ n: { type: 'number' } }))
    expect(checkArguments(schema, { n: 'hunter2' }, mask)).toEqual({
      ok: false,
      error: 'n: expected number, got string ("***")',
    })
  })
})

describe('what is too expensive to check', () => {
  const items = { items: { $ref: '#/$defs/tree' } }
  const schema = compileSchema({
    $ref: '#/$defs/tree',
    $defs: { tree: { type: ['array', 'object'], anyOf: [items, items] } },
  })
  let deep: unknown = 5
  for (let level = 0; level < 150; level++) deep = [deep]

  test('is rejected as arguments, with the next step', () => {
    expect(checkArguments(schema, deep)).toMatchObject({
      ok: false,
      error: expect.stringMatching(
        /^arguments: cannot be checked against the schema \(.+\); make them shorter or simpler$/,
      ),
    })
  })

  test('is left unchecked as output, with the reason', () => {
    expect(checkOutput(schema, deep)).toEqual({ kind: 'unchecked', reason: expect.stringMatching(/./) })
  })

  test('is not accepted by a part of the schema', () => {
    expect(schema.accepts(schema.root, deep, checkBudget())).toBe(false)
    expect(schema.accepts(schema.root, [], checkBudget())).toBe(true)
  })
})

describe('output', () => {
  test('is valid, invalid with the reason, or unchecked where the schema is unusable', () => {
    const schema = compileSchema(object({ n: { type: 'number' } }))
    expect(checkOutput(schema, { n: 1 })).toEqual({ kind: 'valid' })
    expect(checkOutput(schema, { n: 'x' })).toEqual({
      kind: 'invalid',
      error: 'n: expected number, got string ("x")',
    })
    const unusable = compileSchema({ allOf: [{ $ref: '#' }] })
    expect(checkOutput(unusable, { n: 1 })).toEqual({ kind: 'unchecked', reason: unusable.unusable })
  })
})

describe('parts of a compiled schema', () => {
  const text = { type: 'string' }
  const chain = (length: number): JsonSchema => ({
    properties: { x: { $ref: '#/$defs/d0' } },
    $defs: Object.fromEntries(
      Array.from({ length }, (_, at) => [`d${at}`, at + 1 < length ? { $ref: `#/$defs/d${at + 1}` } : text]),
    ),
  })

  test('are found behind up to twenty references', () => {
    const behind = (length: number) => {
      const schema = compileSchema(chain(length))
      const { properties } = schema.root as { properties: { x: unknown } }
      return schema.resolve(properties.x)
    }
    expect(behind(1)).toEqual(text)
    expect(behind(20)).toEqual(text)
    expect(behind(21)).not.toEqual(text)
  })

  test('accept anything where they are not a schema', () => {
    const schema = compileSchema(true)
    expect(schema.resolve('x')).toBe('x')
    for (const part of ['x', 5, null, undefined, [], true])
      expect(schema.accepts(part, {}, checkBudget())).toBe(true)
    expect(schema.accepts(false, {}, checkBudget())).toBe(false)
    expect(schema.accepts(text, 5, checkBudget())).toBe(false)
  })

  test('are missing from one that is unusable, which says why', () => {
    const schema = compileSchema({ allOf: [{ $ref: '#' }] })
    expect(schema.unusable).toContain('levels deep')
    expect(compileSchema({}).unusable).toBeUndefined()
    expect(compileSchema({}).faults).toEqual([])
  })
})
