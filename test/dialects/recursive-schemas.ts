import fc from 'fast-check'
import type { JsonSchema } from '../../packages/core/src/tool.ts'

/** Well-formed nodes that refer to one another and to the root, with and without siblings. */
const node = fc.letrec<{ node: Record<string, unknown> }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.record({ type: fc.constantFrom('string', 'integer', 'array', 'object', 'null') }),
    fc.record({ $ref: fc.constantFrom('#', '#/$defs/a', '#/$defs/b', '#/properties/a') }),
    fc.record(
      {
        $ref: fc.constantFrom('#/$defs/a', '#/$defs/b'),
        description: fc.constant('described'),
        anyOf: fc.array(tie('node'), { minLength: 1, maxLength: 2 }),
      },
      { requiredKeys: ['$ref'] },
    ),
    fc.record(
      {
        type: fc.constant('object'),
        properties: fc.dictionary(fc.constantFrom('a', 'b'), tie('node'), { maxKeys: 2 }),
        required: fc.subarray(['a', 'b']),
      },
      { requiredKeys: [] },
    ),
    fc.record({ type: fc.constant('array'), items: tie('node'), minItems: fc.nat(3) }),
    fc.record(
      {
        anyOf: fc.array(tie('node'), { minLength: 1, maxLength: 3 }),
        oneOf: fc.array(tie('node'), { minLength: 1, maxLength: 3 }),
        allOf: fc.array(tie('node'), { minLength: 1, maxLength: 3 }),
        enum: fc.constantFrom([1], ['a', null], [true]),
        const: fc.constantFrom(1, 'a', null),
      },
      { requiredKeys: [] },
    ),
    fc.record({
      type: fc.constantFrom(['string', 'null'], ['object', 'array']),
      format: fc.constant('uri'),
      pattern: fc.constant('^a'),
    }),
  ),
})).node

/** Schemas whose definitions recur through every keyword that holds a schema. */
export const recursiveSchema: fc.Arbitrary<JsonSchema> = fc.record(
  {
    type: fc.constant('object'),
    properties: fc.dictionary(fc.constantFrom('a', 'b', 'c<'), node, { maxKeys: 3 }),
    required: fc.subarray(['a', 'b']),
    $defs: fc.record({ a: node, b: node }),
    anyOf: fc.array(node, { minLength: 1, maxLength: 2 }),
    allOf: fc.array(node, { minLength: 1, maxLength: 2 }),
  },
  { requiredKeys: ['properties', '$defs'] },
)
