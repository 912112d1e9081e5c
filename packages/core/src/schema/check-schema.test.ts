import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { JsonSchema, Tool } from '../tool.ts'
import { ToolRegistry } from '../tool-registry.ts'

const tool = (inputSchema: unknown, more: Partial<Tool> = {}): Tool => ({
  name: 'y',
  description: '',
  inputSchema: inputSchema as JsonSchema,
  execute: () => ({ ok: true, value: '' }),
  ...more,
})

describe('the schema of an own tool', () => {
  it.each([
    [{ type: 'objekt' }, '#/type is "objekt"; expected array, boolean, integer'],
    [{ type: 'OBJECT' }, '#/type is "OBJECT"; expected'],
    [{ properties: { a: { type: 'strin' } } }, '#/properties/a/type is "strin"; expected'],
    [{ properties: { a: 'string' } }, '#/properties/a is "string"; expected a schema'],
    [{ properties: ['a'] }, '#/properties is a list; expected an object of schemas'],
    [{ properties: { a: { required: true } } }, 'a/required is true; expected a list of property names'],
    [{ properties: { a: { items: { minLength: '1' } } } }, '#/properties/a/items/minLength is "1", which'],
    [{ properties: { a: { enum: 'b' } } }, '#/properties/a/enum is "b"; expected a list of values'],
    [{ anyOf: [{ type: 'object' }, { type: 'nil' }] }, '#/anyOf/1/type is "nil"; expected'],
    [{ oneOf: { type: 'object' } }, '#/oneOf is an object; expected a list of schemas'],
    [{ additionalProperties: 'no' }, '#/additionalProperties is "no"; expected a schema'],
  ])('is refused when malformed: %j', (inputSchema, reason) => {
    const message = `the inputSchema of "y" is not a JSON Schema: `
    const registry = new ToolRegistry()
    const named = { name: 'y', description: '', inputSchema: inputSchema as JsonSchema }
    for (const register of [
      () => registry.register(tool(inputSchema)),
      () => registry.register(tool(inputSchema), { pluginId: 'p' }),
      () => registry.registerAll([tool(inputSchema)]),
      () => registry.registerFunction(() => '', named),
    ]) {
      expect(register).toThrow(expect.objectContaining({ code: 'config-invalid' }))
      expect(register).toThrow(message)
      expect(register).toThrow(reason)
    }
    expect(registry.size).toBe(0)
  })

  it('is refused for its output, too, also when it is cyclic', () => {
    const outputSchema: { type: string; not?: unknown; properties: unknown } = {
      type: 'object',
      properties: { a: { type: 'text' } },
    }
    outputSchema.not = outputSchema
    expect(() => new ToolRegistry().register(tool(true, { outputSchema }))).toThrow(
      'the outputSchema of "y" is not a JSON Schema: #/properties/a/type is "text"',
    )
  })

  it.each([
    ['unknown keywords', { 'x-form': { type: 'slider' }, example: { type: 'dog', required: true } }],
    ['a property with the name of a keyword', { properties: { type: { const: 'dog' }, required: true } }],
    [
      'values',
      { properties: { a: { default: { type: 'dog' }, const: { enum: 1 }, examples: [{ type: 1 }] } } },
    ],
    ['empty lists', { properties: { a: { enum: [] }, b: { prefixItems: [] }, c: { items: [] } } }],
    ['old drafts', { properties: { a: { type: 'number', minimum: 0, exclusiveMinimum: true } } }],
    ['patterns that cannot be evaluated', { properties: { a: { pattern: '(a)\\1' } } }],
    ['references to elsewhere', { $ref: 'https://example.com/schema.json' }],
  ])('is accepted with %s', (_, inputSchema) => {
    expect(() => new ToolRegistry().register(tool(inputSchema))).not.toThrow()
  })

  it('is accepted as libraries write it', () => {
    const inputSchema = z.object({
      tuple: z.tuple([]),
      pair: z.tuple([z.string(), z.number()]).rest(z.boolean()),
      email: z.email().nullable().default('a@b.c'),
      kind: z.discriminatedUnion('kind', [
        z.object({ kind: z.literal('a') }),
        z.object({ kind: z.literal('b') }),
      ]),
      map: z.record(z.string().regex(/^a/), z.int().multipleOf(2)),
      get again() {
        return z.array(inputSchema).optional()
      },
    })
    new ToolRegistry().registerFunction(() => '', { name: 'y', description: '', inputSchema })
  })

  it('of a server is left to the server', () => {
    const registry = new ToolRegistry()
    expect(registry.syncMcp('s', [tool({ type: 'objekt' })]).skipped).toEqual([])
  })
})
