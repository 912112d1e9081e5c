import { describe, expect, test } from 'vitest'
import type { JsonSchema } from '../tool.ts'
import { compileSchema } from './compile-schema.fixture.ts'

const kinds = (schema: JsonSchema, instances: readonly unknown[]) => {
  const compiled = compileSchema(schema)
  return instances.map((instance) => compiled.validate(instance).kind === 'valid')
}

describe('unevaluatedProperties', () => {
  const named = (name: string) => ({ properties: { [name]: { type: 'number' } } })

  test('sees what allOf, anyOf, if and $ref evaluated', () => {
    const schema: JsonSchema = {
      $defs: { c: named('c') },
      allOf: [named('a')],
      anyOf: [{ ...named('b'), required: ['b'] }, true],
      if: { required: ['a'] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: named('d'),
      $ref: '#/$defs/c',
      unevaluatedProperties: false,
    }
    expect(kinds(schema, [{ a: 1, b: 1, c: 1, d: 1 }, { a: 1 }, { d: 1 }, { x: 1 }])).toEqual([
      true,
      true,
      false,
      false,
    ])
  })

  test('does not see what a failed alternative evaluated', () => {
    const schema: JsonSchema = {
      anyOf: [{ ...named('a'), required: ['b'] }, named('c')],
      unevaluatedProperties: { type: 'string' },
    }
    expect(kinds(schema, [{ a: 1 }, { a: 'text' }, { c: 1, d: 'text' }, { a: 1, b: 'x' }])).toEqual([
      false,
      true,
      true,
      true,
    ])
  })

  test('of items counts tuples and contains', () => {
    const schema: JsonSchema = {
      prefixItems: [{ type: 'string' }],
      contains: { type: 'number' },
      unevaluatedItems: false,
    }
    expect(kinds(schema, [['a', 1, 2], ['a', 1, 'b'], ['a']])).toEqual([true, false, false])
  })
})

describe('references', () => {
  test('are found by pointer, anchor and id, with escapes', () => {
    const $defs = {
      'a/b %': { type: 'string' },
      anchored: { $anchor: 'here', type: 'number' },
      other: { $id: 'https://example.com/other', type: 'boolean', $defs: { inner: { type: 'null' } } },
      relative: { $id: '/folder/file', $ref: 'file2' },
      sibling: { $id: '/folder/file2', type: 'array' },
    }
    const one = ($ref: string) => kinds({ $defs, items: { $ref } }, [['x'], [1], [true], [null], [[]]])
    const only = (index: number) => [0, 1, 2, 3, 4].map((n) => n === index)
    expect(one('#/$defs/a~1b%20%25')).toEqual(only(0))
    expect(one('#here')).toEqual(only(1))
    expect(one('https://example.com/other')).toEqual(only(2))
    expect(one('https://example.com/other#/$defs/inner')).toEqual(only(3))
    expect(one('/folder/file')).toEqual(only(4))
  })

  test('of older and newer kinds are resolved statically', () => {
    const tree = { type: 'object', additionalProperties: { $recursiveRef: '#' } }
    expect(kinds(tree, [{ a: { b: {} } }, { a: { b: 1 } }])).toEqual([true, false])
    const dynamic = { $dynamicAnchor: 'node', type: 'object', additionalProperties: { $dynamicRef: '#node' } }
    expect(kinds(dynamic, [{ a: { b: {} } }, { a: { b: 1 } }])).toEqual([true, false])
    const draft7 = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      definitions: { a: { $id: '#a', type: 'string' } },
      items: { $ref: '#a' },
    }
    expect(kinds(draft7, [['x'], [1]])).toEqual([true, false])
  })

  test('with endless addresses are left out', () => {
    const long = `/${'x'.repeat(5_000)}`
    const compiled = compileSchema({
      $id: long,
      properties: { a: { $ref: long }, b: { $ref: '#/properties/c' } },
    })
    expect(compiled.faults).toEqual([
      '#/$id has an invalid value',
      '#/properties/a/$ref has an invalid value',
      '$ref #/properties/c has no target',
    ])
    const step = 'x/'.repeat(400)
    let nested: JsonSchema = { $ref: '#/$defs/none' }
    for (let level = 0; level < 50; level++) nested = { $id: step, items: nested }
    expect(compileSchema(nested)).toMatchObject({ unusable: undefined })
  })

  test('in a circle that never ends make the schema unusable, not the process', () => {
    expect(compileSchema({ allOf: [{ $ref: '#' }] }).unusable).toContain('levels deep')
    expect(compileSchema({ $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } }).faults).toHaveLength(1)
  })
})

describe('numbers', () => {
  test('are multiples in decimals, as they are written', () => {
    expect(kinds({ multipleOf: 0.1 }, [0.3, 1.1, 0.35, 0, -0.7])).toEqual([true, true, false, true, true])
    expect(kinds({ multipleOf: 0.0001 }, [0.0075, 0.00751])).toEqual([true, false])
    expect(kinds({ multipleOf: 3 }, [9, 10, 1e300, Number.POSITIVE_INFINITY])[1]).toBe(false)
    expect(kinds({ multipleOf: 1e-8 }, [12391239123])).toEqual([true])
  })

  test('have exclusive bounds in both drafts', () => {
    expect(kinds({ exclusiveMinimum: 1, exclusiveMaximum: 3 }, [1, 2, 3])).toEqual([false, true, false])
    const $schema = 'http://json-schema.org/draft-04/schema#'
    expect(
      kinds({ $schema, minimum: 1, exclusiveMinimum: true, maximum: 3, exclusiveMaximum: true }, [1, 2, 3]),
    ).toEqual([false, true, false])
    expect(kinds({ $schema, minimum: 1, maximum: 3 }, [1, 3, 0, 4])).toEqual([true, true, false, false])
  })
})

describe('texts', () => {
  test('are measured in characters, not in surrogates', () => {
    expect(kinds({ maxLength: 2, minLength: 2 }, ['👍👍', '👍', 'ab', '\ud83d\ud83d'])).toEqual([
      true,
      false,
      true,
      true,
    ])
  })

  test.each<[string, string[], string[]]>([
    [
      'date',
      ['2024-02-29', '1999-12-31'],
      ['2023-02-29', '2024-13-01', '2024-00-10', '2024-1-1', '2024-04-31'],
    ],
    [
      'time',
      ['12:00:00Z', '23:59:60Z', '00:59:60+01:00', '12:00:00.5-03:30'],
      ['12:00:00', '24:00:00Z', '12:60:00Z', '12:00:60Z', '12:00:00+24:00'],
    ],
    [
      'date-time',
      ['2024-02-29T12:00:00Z', '2024-02-29t12:00:00.123+01:00'],
      ['2024-02-30T12:00:00Z', '2024-02-29', 'soon', '2024-02-29X12:00:00Z'],
    ],
    ['duration', ['P1Y2M3DT4H5M6S', 'P2W', 'PT1S'], ['P', 'PT', 'P1YT', '1Y', 'P1H']],
    [
      'email',
      ['a@b.example', 'a.b+c@x-y.org', '"a b"@x.org', 'a@[127.0.0.1]'],
      ['@b', 'a@', 'a..b@c', '.a@c', 'a b@c', 'a@-x', 'plain'],
    ],
    ['hostname', ['a', 'a-b.example.com', '1.a'], ['-a', 'a-', 'a..b', '', `${'a'.repeat(64)}`, 'a_b']],
    ['ipv4', ['127.0.0.1', '255.255.255.255'], ['256.0.0.1', '1.2.3', '1.2.3.4.5', '01.2.3.4', 'a.b.c.d']],
    ['ipv6', ['::1', 'fe80::1', '::ffff:1.2.3.4'], ['1::2::3', '12345::', '::1]/', 'g::', '1.2.3.4']],
    [
      'uri',
      ['https://example.com/a?b#c', 'urn:x:y', 'mailto:a@b'],
      ['/a', 'a b', 'http://a b', 'http://%zz', ''],
    ],
    ['uri-reference', ['/a', '../b?c', 'https://x', ''], ['a b', '%zz', '<a>']],
    ['uuid', ['123e4567-e89b-12d3-a456-426614174000'], ['123e4567e89b12d3a456426614174000', 'x']],
    ['json-pointer', ['', '/a/b~0~1'], ['a', '/~2', '/~']],
    ['relative-json-pointer', ['0', '1/a', '2#'], ['-1', '01', '/a']],
    ['regex', ['^a+$'], ['(']],
    ['no-such-format', ['anything'], []],
  ])('have the format %s', (format, good, bad) => {
    expect(kinds({ format }, good)).toEqual(good.map(() => true))
    expect(kinds({ format }, bad)).toEqual(bad.map(() => false))
    expect(kinds({ format }, [5, null])).toEqual([true, true])
  })
})

describe('lists', () => {
  test('contain as many as asked for', () => {
    const schema: JsonSchema = { contains: { const: 1 }, minContains: 2, maxContains: 3 }
    expect(kinds(schema, [[1], [1, 1], [1, 2, 1, 1], [1, 1, 1, 1], []])).toEqual([
      false,
      true,
      true,
      false,
      false,
    ])
    expect(kinds({ contains: { const: 1 }, minContains: 0 }, [[], [2]])).toEqual([true, true])
  })

  test('written as tuples in the old way have additional items', () => {
    const schema: JsonSchema = { items: [{ type: 'string' }], additionalItems: { type: 'number' } }
    expect(kinds(schema, [['a', 1], ['a', 'b'], [1], []])).toEqual([true, false, false, true])
  })

  test('distinguish a string from the object that it looks like', () => {
    expect(
      kinds({ uniqueItems: true }, [
        ['{"a":1}', { a: 1 }],
        [null, 'null'],
        [{ a: 1 }, { a: 1 }],
      ]),
    ).toEqual([true, true, false])
  })
})
