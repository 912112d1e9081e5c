import { validate } from '@cfworker/json-schema'
import fc from 'fast-check'
import { expect } from 'vitest'
import { fuzz } from '../../../../test/fuzz.ts'
import type { JsonSchema } from '../tool.ts'
import { checkOutput } from './check-output.ts'
import { checkArguments, compileSchema } from './compile-schema.fixture.ts'

const names = fc.constantFrom('a', 'b', 'c')
const scalars = fc.oneof(fc.constantFrom<unknown>(0, 1, 2, 7, -1, 0.5, '', 'a', 'ab', true, false, null))
const { instances } = fc.letrec<{ instances: unknown }>((tie) => ({
  instances: fc.oneof(
    { maxDepth: 3 },
    scalars,
    fc.array(tie('instances'), { maxLength: 4 }),
    fc.dictionary(names, tie('instances'), { maxKeys: 3 }),
  ),
}))

const types = fc.constantFrom('string', 'number', 'integer', 'boolean', 'null', 'object', 'array')
const counts = fc.integer({ min: 0, max: 3 })
/** At most three keywords with values; more would mask each other. */
const { schemas } = fc.letrec<{ schemas: JsonSchema; lists: JsonSchema[]; maps: object }>((tie) => {
  const keyword = <Value>(name: string, value: fc.Arbitrary<Value>) => fc.tuple(fc.constant(name), value)
  const leaves = fc.oneof(
    keyword('type', fc.oneof(types, fc.uniqueArray(types, { minLength: 1, maxLength: 3 }))),
    keyword('const', scalars),
    keyword('enum', fc.array(instances, { minLength: 1, maxLength: 3 })),
    ...['minimum', 'exclusiveMaximum', 'minLength', 'maxLength', 'minItems', 'maxItems'].map((name) =>
      keyword(name, counts),
    ),
    ...['minProperties', 'maxProperties'].map((name) => keyword(name, counts)),
    keyword('multipleOf', fc.constantFrom(1, 0.5, 2)),
    keyword('required', fc.uniqueArray(names, { maxLength: 2 })),
    keyword('dependentRequired', fc.dictionary(names, fc.uniqueArray(names), { maxKeys: 1 })),
    keyword('uniqueItems', fc.boolean()),
    keyword('$ref', fc.constantFrom('#', '#/$defs/a', '#/properties/b')),
  )
  const branches = fc.oneof(
    ...['additionalProperties', 'propertyNames', 'items', 'contains', 'not', 'if', 'then', 'else'].map(
      (name) => keyword(name, tie('schemas')),
    ),
    ...['prefixItems', 'allOf', 'anyOf', 'oneOf'].map((name) => keyword(name, tie('lists'))),
    ...['properties', 'dependentSchemas', '$defs'].map((name) => keyword(name, tie('maps'))),
    keyword(
      'patternProperties',
      fc.dictionary(fc.constantFrom('^a', '[bc]'), tie('schemas'), { maxKeys: 2 }),
    ),
  )
  const nodes = (of: fc.Arbitrary<[string, unknown]>) =>
    fc.array(of, { maxLength: 3 }).map((entries) => Object.fromEntries(entries))
  return {
    lists: fc.array(tie('schemas'), { minLength: 1, maxLength: 3 }),
    maps: fc.dictionary(names, tie('schemas'), { maxKeys: 3 }),
    schemas: fc.oneof({ maxDepth: 3 }, fc.boolean(), nodes(leaves), nodes(fc.oneof(leaves, branches))),
  }
})

fuzz('validation agrees with another validator', fc.tuple(schemas, instances), ([schema, instance]) => {
  const compiled = compileSchema(schema)
  const { kind } = compiled.validate(instance)
  if (kind === 'unchecked' || compiled.faults.length > 0 || compiled.unusable !== undefined) return
  let isValid: boolean
  try {
    isValid = validate(instance, structuredClone(schema) as object, '2020-12').valid
  } catch {
    // A reference without a target, or a cycle.
    return
  }
  expect({ kind, schema, instance }).toEqual({ kind: isValid ? 'valid' : 'invalid', schema, instance })
})

fuzz('no schema or instance makes a check throw', fc.tuple(schemas, fc.anything()), ([schema, instance]) => {
  const compiled = compileSchema(schema)
  expect(['valid', 'invalid', 'unchecked']).toContain(checkOutput(compiled, instance).kind)
  expect(checkArguments(compiled, instance)).toHaveProperty('ok')
})

fuzz('every invalid instance has a description', fc.tuple(schemas, instances), ([schema, instance]) => {
  const checked = checkOutput(compileSchema(schema), instance)
  if (checked.kind === 'invalid') expect(checked.error).toMatch(/\S: \S/)
})
