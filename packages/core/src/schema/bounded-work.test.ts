import { describe, expect, test } from 'vitest'
import { WorkBudget } from '../time.ts'
import type { JsonSchema } from '../tool.ts'
import { checkOutput } from './check-output.ts'
import { checkArguments, compileSchema } from './compile-schema.fixture.ts'
import { checkBudget } from './compiled-schema.ts'

/** Wraps a value in itself the given number of times. */
const nest = (times: number, wrap: (inner: unknown) => unknown, core: unknown) => {
  let value = core
  for (let time = 0; time < times; time++) value = wrap(value)
  return value
}
const many = <Item>(length: number, make: (index: number) => Item) =>
  Array.from({ length }, (_, n) => make(n))
const keyed = (length: number, make: (index: number) => [string, unknown]) =>
  Object.fromEntries(many(length, make))

const rows = many(20_000, (id) => ({ id, name: `name${id}` }))
const tagged = rows.map((row) => ({ kind: 'x', ...row }))
const kinds = many(300, (n) => ({ type: 'object', properties: { kind: { const: n } }, required: ['kind'] }))
const tree = { type: 'array', items: { $ref: '#/$defs/tree' } }
const shapes: [string, JsonSchema, unknown, 'unchecked' | 'invalid'][] = [
  [
    'anyOf that refers to itself twice',
    { $defs: { tree: { anyOf: [tree, tree] } }, $ref: '#/$defs/tree' },
    nest(150, (inner) => [inner], 1),
    'unchecked',
  ],
  [
    'allOf that refers to itself twice',
    { $defs: { tree: { allOf: [tree, tree] } }, $ref: '#/$defs/tree' },
    nest(100, (inner) => [inner], []),
    'unchecked',
  ],
  [
    'references that double at each step',
    {
      $defs: keyed(40, (n) => [
        `d${n + 1}`,
        { allOf: [{ $ref: `#/$defs/d${n}` }, { $ref: `#/$defs/d${n}` }] },
      ]),
      items: { $ref: '#/$defs/d40' },
    },
    [1],
    'unchecked',
  ],
  [
    'many alternatives for many records',
    { items: { anyOf: [...kinds, { type: 'object' }] } },
    tagged,
    'unchecked',
  ],
  ['oneOf with many alternatives', { items: { oneOf: [...kinds, { type: 'object' }] } }, tagged, 'unchecked'],
  [
    'not within not',
    { items: { not: { not: { anyOf: [...many(200, () => ({ type: 'string' })), true] } } } },
    rows,
    'unchecked',
  ],
  [
    'uniqueItems over large items',
    { uniqueItems: true },
    many(60_000, (n) => ({ n, text: 'x'.repeat(20) })),
    'unchecked',
  ],
  [
    'uniqueItems at every level',
    nest(50, (items) => ({ uniqueItems: true, items }), true) as JsonSchema,
    nest(
      50,
      (inner) => [inner, 1],
      many(5_000, (n) => n),
    ),
    'unchecked',
  ],
  ['uniqueItems over a deep item', { uniqueItems: true }, [nest(50_000, (inner) => [inner], 1)], 'unchecked'],
  [
    'many patterns for many names',
    { patternProperties: keyed(100, (n) => [`^(a|b)*x${n}.*[0-9]{3}`, true]) },
    keyed(20_000, (n) => [`${'ab'.repeat(10)}${n}`, 1]),
    'unchecked',
  ],
  [
    'a large enum of objects',
    { items: { not: { enum: many(500, (id) => ({ id, at: [1, 2, 3] })) } } },
    many(20_000, () => ({ id: -1, at: [1, 2, 3] })),
    'unchecked',
  ],
  [
    'long lists of required names',
    { items: { anyOf: [{ required: many(5_000, (n) => `r${n}`) }, true] } },
    many(2_000, () => ({})),
    'unchecked',
  ],
  [
    'names handed from part to part',
    { allOf: many(50, () => ({ additionalProperties: true })), unevaluatedProperties: false },
    keyed(20_000, (n) => [`k${n}`, n]),
    'unchecked',
  ],
  [
    'tiny steps of large numbers',
    { items: { multipleOf: 1e-300 } },
    many(50_000, (n) => 1e300 + n),
    'unchecked',
  ],
  [
    'a long text under many lengths',
    { allOf: many(200, () => ({ maxLength: 1e9 })) },
    'x'.repeat(469_000),
    'unchecked',
  ],
  ['faults in every record', { items: { allOf: many(300, () => ({ type: 'string' })) } }, rows, 'invalid'],
  ['faults in every alternative of every record', { items: { anyOf: kinds } }, tagged, 'invalid'],
  [
    'a large enum of texts',
    { items: { enum: many(50_000, (n) => `v${n}`) } },
    many(20_000, () => 'zzz'),
    'invalid',
  ],
]

describe('a check of a hostile schema and instance', () => {
  test.each(shapes)('ends, whatever it costs: %s', (_name, schema, instance, expected) => {
    const compiled = compileSchema(schema)
    expect(compiled.unusable).toBeUndefined()
    expect(checkOutput(compiled, instance).kind).toBe(expected)
    expect(checkArguments(compiled, instance)).toMatchObject({ ok: false })
  })

  test('costs the same number of steps every time', () => {
    const compiled = compileSchema({ items: { anyOf: kinds.slice(0, 5) } })
    const spent = () => {
      const budget = checkBudget()
      compiled.validate(tagged.slice(0, 100), budget)
      return budget.left
    }
    expect(spent()).toBe(spent())
    expect(spent()).toBeLessThan(checkBudget().left)
  })

  test('leaves room for a megabyte of ordinary records', () => {
    const schema = compileSchema({
      type: 'array',
      items: {
        type: 'object',
        properties: { id: { type: 'integer' }, name: { type: 'string', maxLength: 20 } },
        required: ['id', 'name'],
        additionalProperties: false,
      },
    })
    const records = many(35_000, (id) => ({ id, name: `name${id}` }))
    expect(JSON.stringify(records).length).toBeGreaterThan(1_000_000)
    expect(schema.validate(records).kind).toBe('valid')
  })

  test('rejects arguments with the next step', () => {
    const [, schema, args] = shapes[0] ?? []
    expect(checkArguments(compileSchema(schema ?? true), args)).toEqual({
      ok: false,
      error:
        'arguments: cannot be checked against the schema (checking recurses more than 400 levels deep); make them shorter or simpler',
    })
  })

  test('shares one budget between checking and correcting', () => {
    const compiled = compileSchema({ items: { type: 'integer' } })
    const spent = new WorkBudget(0)
    expect(compiled.validate(['1'], spent)).toMatchObject({ kind: 'unchecked' })
    expect(compiled.accepts(compiled.root, [1], spent)).toBe(false)
    expect(compiled.accepts(compiled.root, [1], checkBudget())).toBe(true)
  })

  test('reports a few of very many faults, and how many more were found', () => {
    const compiled = compileSchema({ items: { type: 'integer' } })
    const checked = checkOutput(
      compiled,
      many(500, () => 'x'),
    )
    expect(checked).toMatchObject({ kind: 'invalid', error: expect.stringMatching(/; and 495 more$/) })
  })

  test('shows the beginning of a deep or huge value without reading all of it', () => {
    const compiled = compileSchema({ type: 'object' })
    const deep = nest(100_000, (inner) => [inner], 1)
    expect(checkOutput(compiled, deep)).toEqual({
      kind: 'invalid',
      error: `structured content: expected object, got array (${'['.repeat(59)}…)`,
    })
    expect(
      checkOutput(
        compiled,
        many(100_000, (n) => n),
      ),
    ).toMatchObject({
      error: expect.stringMatching(/^structured content: expected object, got array \(\[0,1,2,.{0,60}…\)$/),
    })
  })
})

describe('output', () => {
  test('that cannot be checked at all is unchecked, with the reason', () => {
    const cyclic: Record<string, unknown> = {}
    cyclic.not = cyclic
    expect(checkOutput(compileSchema(cyclic), {})).toMatchObject({
      kind: 'unchecked',
      reason: expect.stringContaining('cyclic'),
    })
  })

  test('that matches is valid; other output is reported by path', () => {
    const compiled = compileSchema({ properties: { n: { type: 'number' } }, required: ['n'] })
    expect(checkOutput(compiled, { n: 1 })).toEqual({ kind: 'valid' })
    expect(checkOutput(compiled, { n: 'x' })).toEqual({
      kind: 'invalid',
      error: 'n: expected number, got string ("x")',
    })
  })
})
