import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import type { ToolContext } from '../tool.ts'
import { ToolRegistry } from '../tool-registry.ts'
import { defineTool } from './define-tool.ts'

const ctx: ToolContext = {
  sessionId: 's',
  toolCallId: 'c',
  turnCount: 0,
  signal: new AbortController().signal,
  resultLimitChars: 1000,
}
const described = { type: 'object', properties: { city: { type: 'string' }, days: { type: 'number' } } }

describe('defineTool', () => {
  it('infers the input from a JSON Schema', async () => {
    const tool = defineTool({
      name: 'plan',
      description: 'Plans.',
      inputSchema: {
        type: 'object',
        properties: {
          city: { type: 'string' },
          days: { type: 'integer' },
          mode: { enum: ['fast', 'cheap'] },
          stops: {
            type: 'array',
            items: { type: 'object', properties: { at: { type: ['string', 'null'] } }, required: ['at'] },
          },
          either: { anyOf: [{ type: 'boolean' }, { const: 7 }] },
        },
        required: ['city', 'stops'],
      },
      execute: (input) => {
        expectTypeOf(input).toEqualTypeOf<{
          city: string
          stops: { at: string | null }[]
          days?: number
          mode?: 'fast' | 'cheap'
          either?: boolean | 7
        }>()
        return { ok: true, value: input.city }
      },
    })
    expect(await tool.execute({ city: 'Oslo', stops: [] }, ctx)).toEqual({ ok: true, value: 'Oslo' })
  })

  it.each([
    ['zod', z.object({ city: z.string().describe('Where'), days: z.number().default(3) })],
    ['arktype', type({ city: 'string', days: 'number = 3' })],
    ['valibot', v.object({ city: v.string(), days: v.optional(v.number(), 3) })],
    [
      'valibot with its own converter',
      toStandardJsonSchema(v.object({ city: v.string(), days: v.optional(v.number(), 3) })),
    ],
  ])('takes a schema of %s, shows its JSON Schema and parses with it', async (_, inputSchema) => {
    const tool = defineTool({
      name: 'plan',
      description: '',
      inputSchema,
      execute: ({ city, days }) => ({ ok: true, value: `${city} ${days}` }),
    })
    expect(tool.inputSchema).toMatchObject(described)
    expect(tool.inputSchema).toMatchObject({ required: ['city'] })
    expect(await tool.execute({ city: 'Oslo' } as never, ctx)).toEqual({ ok: true, value: 'Oslo 3' })
    expect(await tool.execute({ city: 7 } as never, ctx)).toMatchObject({
      ok: false,
      code: 'input_invalid',
      error: expect.stringContaining('city'),
    })
  })

  it('runs through a registry with what the schema made of the arguments', async () => {
    const registry = new ToolRegistry()
    registry.register(
      defineTool({
        name: 'upper',
        description: '',
        inputSchema: z.object({ text: z.string().trim().min(2) }),
        execute: ({ text }) => ({ ok: true, value: text.toUpperCase() }),
      }),
    )
    const run = async (text: string) =>
      (
        await registry.executeParallel([{ toolCallId: '1', name: 'upper', args: { text } }], {
          sessionId: 's',
        })
      )[0]?.result
    expect(await run('  hi ')).toEqual({ ok: true, value: 'HI' })
    expect(await run(' h ')).toMatchObject({ ok: false, code: 'input_invalid' })
  })

  it('says what to do about a schema that cannot describe itself', () => {
    const mute = {
      '~standard': { version: 1 as const, vendor: 'mute', validate: (value: unknown) => ({ value }) },
    }
    expect(() =>
      defineTool({ name: 'x', description: '', inputSchema: mute, execute: () => ({ ok: true, value: '' }) }),
    ).toThrow(
      expect.objectContaining({
        code: 'config-invalid',
        message: expect.stringContaining('update mute, or pass a JSON Schema'),
      }),
    )
    expect(() =>
      defineTool({
        name: 'x',
        description: '',
        inputSchema: z.object({ when: z.date() }),
        execute: () => ({ ok: true, value: '' }),
      }),
    ).toThrow(expect.objectContaining({ code: 'config-invalid' }))
  })

  it('reads what people write in valibot', () => {
    const tool = defineTool({
      name: 'x',
      description: '',
      inputSchema: v.strictObject({
        name: v.pipe(v.string(), v.description('Its name'), v.minLength(2)),
        tags: v.pipe(v.array(v.picklist(['a', 'b'])), v.maxLength(3)),
        size: v.nullable(v.pipe(v.number(), v.integer(), v.minValue(1))),
        extra: v.nullish(v.record(v.string(), v.boolean())),
        kind: v.union([v.literal('x'), v.literal('y')]),
      }),
      execute: () => ({ ok: true, value: '' }),
    })
    expect(tool.inputSchema).toEqual({
      type: 'object',
      properties: {
        name: { type: 'string', description: 'Its name', minLength: 2 },
        tags: { type: 'array', items: { enum: ['a', 'b'] }, maxItems: 3 },
        size: { anyOf: [{ type: 'integer', minimum: 1 }, { type: 'null' }] },
        extra: { type: 'object', additionalProperties: { type: 'boolean' } },
        kind: { anyOf: [{ const: 'x' }, { const: 'y' }] },
      },
      required: ['name', 'tags', 'size', 'kind'],
      additionalProperties: false,
    })
  })
})
