import { expect, it } from 'vitest'
import type { JsonSchema } from '../tool.ts'
import { typesOf } from './tool-types.ts'

const tool = (ownName: string, parameters: JsonSchema, outputSchema?: JsonSchema) => ({
  definition: { name: ownName, description: '', parameters },
  tool: outputSchema === undefined ? {} : { outputSchema },
  listing: { source: { kind: 'mcp', server: 'my-shop' } as const, ownName },
})
const object = (properties: object, rest: object = {}) => ({ type: 'object', properties, ...rest })

it('is called by its path with one object, whose constraints are comments', () => {
  const parameters = object(
    {
      id: { type: 'string', pattern: '^W\\d+$', description: 'Which one.' },
      limit: { type: 'integer', minimum: 1, maximum: 100, default: 5 },
      since: { type: 'string', format: 'date' },
    },
    { required: ['id'] },
  )
  expect(typesOf([tool('get', parameters)])).toEqual([
    {
      types:
        'tools["my-shop"].get({ id: string /* (/^W\\d+$/) Which one. */, limit?: number /* (int, 1..100, = 5) */, since?: string /* (date) */ }): Promise<any>',
      isWhole: true,
    },
  ])
  expect(typesOf([tool('all', object({}))])[0]?.types).toBe('tools["my-shop"].all(): Promise<any>')
})

it('names what a schema refers to more than once, and what contains itself', () => {
  const parameters = object(
    { tree: { $ref: '#/$defs/node' }, one: { $ref: '#/$defs/once' } },
    {
      $defs: {
        node: object({ next: { $ref: '#/$defs/node' } }),
        once: object({ a: { type: 'number' } }),
      },
    },
  )
  expect(typesOf([tool('grow', parameters)])[0]?.types).toBe(
    'tools["my-shop"].grow({ tree?: node, one?: { a?: number } }): Promise<any>; type node = { next?: node }',
  )
})

it('writes out a result that several tools have once', () => {
  const order = object({
    id: { type: 'string' },
    status: { type: 'string' },
    items: { type: 'array', items: { type: 'string' } },
  })
  const types = typesOf([
    tool('get_order', object({}), order),
    tool('count', object({}), { type: 'integer' }),
    tool('cancel_order', object({}), order),
  ]).map((one) => one.types)
  expect(types).toEqual([
    'tools["my-shop"].get_order(): Promise<GetOrderResult>; type GetOrderResult = { id?: string, status?: string, items?: string[] }',
    'tools["my-shop"].count(): Promise<number>',
    'tools["my-shop"].cancel_order(): Promise<GetOrderResult>',
  ])
})

it('says when a type does not tell all', () => {
  const choice = { oneOf: [object({ a: { type: 'string' } }), object({ b: { type: 'string' } })] }
  expect(typesOf([tool('either', choice)])).toEqual([
    { types: 'tools["my-shop"].either(…): Promise<any>', isWhole: false },
  ])
})
