import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { CapabilityError } from '../capability.ts'
import type { Returned, ToolContext } from '../tool.ts'
import { ToolRegistry } from '../tool-registry.ts'
import { defineTool } from './define-tool.ts'
import { fromOpenAI } from './from-openai.ts'
import { functionTool } from './function-tool.ts'

const ctx: ToolContext = {
  sessionId: 's',
  toolCallId: 'c',
  turnCount: 0,
  signal: new AbortController().signal,
  resultLimitChars: 1000,
  context: undefined,
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

  it('names the next step for a schema that cannot be converted', () => {
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

/** Input that untyped callers may pass. */
const untyped = (value: unknown) => value as never
const plain = { name: 'x', description: '', inputSchema: true as const }

describe('what a tool returns', () => {
  const returning = (value: unknown) =>
    defineTool({ ...plain, execute: () => value as Returned }).execute(untyped({}), ctx)

  it('may be any plain value', async () => {
    expect(await returning('text')).toEqual({ ok: true, value: 'text' })
    expect(await returning(undefined)).toEqual({ ok: true, value: '' })
    expect(await returning(null)).toEqual({ ok: true, value: '' })
    expect(await returning({ a: [1] })).toEqual({ ok: true, value: '{"a":[1]}', structured: { a: [1] } })
    expect(await returning(5)).toEqual({ ok: true, value: '5', structured: 5 })
    expect(await returning(2n ** 64n)).toEqual({ ok: true, value: '18446744073709551616' })
    expect(await returning({ ok: true })).toEqual({
      ok: true,
      value: '{"ok":true}',
      structured: { ok: true },
    })
    expect(await returning(Promise.resolve('later'))).toEqual({ ok: true, value: 'later' })
  })

  it('may be a result, which stays as it is', async () => {
    const result = { ok: false, error: 'no', code: 'busy', structured: { retry: 5 } }
    expect(await returning(result)).toBe(result)
    expect(await returning({ ok: true, value: 'x', costUsd: 1 })).toEqual({
      ok: true,
      value: 'x',
      costUsd: 1,
    })
  })

  it('is a failure when it is an Error, returned or thrown, at once or later', async () => {
    const failure = { ok: false, code: 'execution_failed', error: 'disk full' }
    expect(await returning(new Error('disk full'))).toEqual(failure)
    expect(await returning(Promise.resolve(new TypeError('disk full')))).toEqual(failure)
    const throwing = (execute: () => Returned | Promise<Returned>) =>
      defineTool({ ...plain, execute }).execute(untyped({}), ctx)
    expect(
      await throwing(() => {
        throw new Error('disk full')
      }),
    ).toEqual(failure)
    expect(await throwing(() => Promise.reject(new Error('disk full')))).toEqual(failure)
    expect(await throwing(() => Promise.reject(new CapabilityError('denied', 'not yours')))).toEqual({
      ok: false,
      code: 'denied',
      error: 'not yours',
    })
  })

  it('is a failure when it cannot be written as JSON', async () => {
    const cyclic: Record<string, unknown> = {}
    cyclic.self = cyclic
    expect(await returning(cyclic)).toMatchObject({ ok: false, code: 'execution_failed' })
    expect(await returning({ n: 1n })).toMatchObject({ ok: false, code: 'execution_failed' })
  })
})

describe('a draft', () => {
  const define = (more: object) => () => defineTool(untyped({ ...plain, execute: () => '', ...more }))

  it('with an unknown key throws, with the closest known key', () => {
    expect(define({ defered: true })).toThrow(
      'the tool "x" has no option "defered"; did you mean "deferred"?',
    )
    expect(define({ timeout_ms: 5 })).toThrow('did you mean "timeoutMs"?')
    expect(define({ capabilities: { secret: ['A'] } })).toThrow('did you mean "capabilities.secrets"?')
    expect(define({ capabilities: { fs_reach: { reed: [] } } })).toThrow(
      'did you mean "capabilities.fs_reach.read"?',
    )
    expect(define({ title: undefined, anything: undefined })).not.toThrow()
  })

  it.each([
    { timeoutMs: -1 },
    { timeoutMs: Number.NaN },
    { timeoutMs: 2 ** 31 },
    { maxResultChars: 1.5 },
    { maxConcurrent: 0 },
    { cacheTtlMs: '5' },
    { deferred: 'yes' },
    { capabilities: { network: 'example.com' } },
    { capabilities: { storage: false } },
    { execute: 'run' },
    { description: 5 },
    { inputSchema: 'object' },
    { isAvailable: true },
  ])('with a value out of range is refused: %o', (more) => {
    expect(define(more)).toThrow(expect.objectContaining({ code: 'config-invalid' }))
  })

  it('needs a name, a schema and something to run', () => {
    expect(() => defineTool(untyped({}))).toThrow('defineTool() needs the option "name": a string')
    expect(define({ inputSchema: undefined })).toThrow('the tool "x" needs the option "inputSchema"')
    expect(define({ execute: undefined })).toThrow('needs the option "execute": a function')
    expect(() => defineTool(untyped(null))).toThrow('defineTool() takes its options as an object')
  })

  it('may be an instance of a class; its methods see their own fields', async () => {
    class Counter {
      #count = 0
      description = 'Counts.'
      inputSchema = true as const
      get name() {
        return 'count'
      }
      isAvailable() {
        return this.#count < 1
      }
      execute() {
        return `${++this.#count}`
      }
    }
    const tool = defineTool(new Counter())
    expect([tool.name, tool.description, tool.isAvailable?.()]).toEqual(['count', 'Counts.', true])
    expect(await tool.execute(untyped({}), ctx)).toEqual({ ok: true, value: '1' })
    expect(tool.isAvailable?.()).toBe(false)
  })

  it('returns the value of isAvailable: a promise is not true', () => {
    const tool = defineTool(untyped({ ...plain, execute: () => '', isAvailable: async () => true })) as {
      isAvailable(): unknown
    }
    expect(tool.isAvailable()).toBeInstanceOf(Promise)
  })
})

describe('a plain function', () => {
  it('needs only a description', async () => {
    function get_time() {
      return 'noon'
    }
    const tool = functionTool(get_time, { description: 'Says the time.' })
    expect(tool).toMatchObject({
      name: 'get_time',
      description: 'Says the time.',
      inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    })
    expect(await tool.execute(untyped({}), ctx)).toEqual({ ok: true, value: 'noon' })
  })

  it('is called with what its schema parsed', async () => {
    const tool = functionTool(({ n }) => n + 1, {
      name: 'next',
      description: '',
      inputSchema: z.object({ n: z.number() }),
    })
    expect(await tool.execute({ n: 1 }, ctx)).toEqual({ ok: true, value: '2', structured: 2 })
  })

  it('without a name, a description or known options throws', () => {
    expect(() => functionTool(() => 1, { description: '' })).toThrow('the function has no name')
    expect(() => functionTool(function f() {}, untyped({}))).toThrow(
      'the tool "f" needs the option "description"',
    )
    expect(() => functionTool(function f() {}, untyped(undefined))).toThrow(
      'expects a function and its options',
    )
    expect(() => functionTool(untyped('f'), { description: '' })).toThrow(
      'expects a function and its options',
    )
    expect(() => functionTool(function f() {}, untyped({ description: '', serchHint: 'x' }))).toThrow(
      'did you mean "searchHint"?',
    )
  })
})

describe('fromOpenAI', () => {
  it('gives the function arguments of the type that it declares', async () => {
    const parameters = {
      type: 'object',
      properties: { query: { type: 'string' } },
      required: ['query'],
    } as const
    const definition = { type: 'function', function: { name: 'find', parameters } } as const
    const typed = fromOpenAI(definition, ({ query }: { query: string }) => query.toUpperCase())
    const untyped = fromOpenAI(definition, ({ query }) => `${query}`)
    expect(await typed.execute({ query: 'rain' }, ctx)).toMatchObject({ value: 'RAIN' })
    expect(await untyped.execute({ query: 'rain' }, ctx)).toMatchObject({ value: 'rain' })
  })

  it('wraps what the function returns', async () => {
    const tool = fromOpenAI({ type: 'function', function: { name: 'ping' } }, () => ({ pong: true }))
    expect(await tool.execute({}, ctx)).toEqual({
      ok: true,
      value: '{"pong":true}',
      structured: { pong: true },
    })
  })
})
