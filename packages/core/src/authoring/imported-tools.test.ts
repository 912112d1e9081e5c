import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema'
import { tool as langChainTool } from '@langchain/core/tools'
import * as v6 from 'ai-v6'
import * as v7 from 'ai-v7'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Tool } from '../tool.ts'
import { ToolRegistry } from '../tool-registry.ts'
import { fromAiSdk } from './from-ai-sdk.ts'
import { fromAnthropic } from './from-anthropic.ts'
import { fromLangChain } from './from-langchain.ts'

async function call(tools: readonly Tool[], name: string, args: object) {
  const registry = new ToolRegistry()
  registry.registerAll(tools)
  const [answer] = await registry.executeParallel([{ toolCallId: 'c1', name, args }], { sessionId: 's' })
  return answer?.result
}

const CITY = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const
const INVALID = expect.objectContaining({ code: 'config-invalid' })

describe('tools of the Anthropic SDK', () => {
  const forecast = betaTool({
    name: 'forecast',
    description: 'The weather.',
    inputSchema: CITY,
    run: ({ city }) => [
      { type: 'text', text: `Rain in ${city}` },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
    ],
  })

  it('run themselves, and their blocks are text and images', async () => {
    expect(await call([fromAnthropic(forecast)], 'forecast', { city: 'Bern' })).toEqual({
      ok: true,
      value: 'Rain in Bern',
      content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }],
    })
    expect(await call([fromAnthropic(forecast)], 'forecast', {})).toMatchObject({ code: 'input_invalid' })
  })

  it('may be definitions with a function beside them', async () => {
    const tool = fromAnthropic({ name: 'up', input_schema: CITY }, ({ city }: { city: string }) => ({
      up: city.toUpperCase(),
    }))
    expect(await call([tool], 'up', { city: 'Bern' })).toMatchObject({ structured: { up: 'BERN' } })
  })

  it('need something to run', () => {
    expect(() => fromAnthropic({ name: 'up', input_schema: CITY })).toThrow('has no run function')
    expect(() => fromAnthropic({ type: 'web_search_20250305', name: 'web_search' } as never)).toThrow(INVALID)
  })
})

describe.each([
  // Both versions have the same shape, which TypeScript cannot see in a union.
  ['6', v6 as unknown as typeof v7],
  ['7', v7],
])('tools of the AI SDK %s', (_, { tool, jsonSchema }) => {
  const tools = {
    forecast: tool({
      description: 'The weather.',
      inputSchema: z.object({ city: z.string(), days: z.number().default(3) }),
      execute: async ({ city, days }, { toolCallId }) => ({
        text: `${toolCallId}: ${days} days of rain in ${city}`,
      }),
    }),
    slow: tool({
      inputSchema: jsonSchema<{ city: string }>(CITY),
      async *execute({ city }) {
        yield 'looking'
        yield `Rain in ${city}`
      },
    }),
  }

  it('run with what their schemas make of the arguments', async () => {
    expect(await call(fromAiSdk(tools), 'forecast', { city: 'Bern' })).toMatchObject({
      ok: true,
      structured: { text: 'c1: 3 days of rain in Bern' },
    })
    expect(await call(fromAiSdk(tools), 'slow', { city: 'Bern' })).toEqual({
      ok: true,
      value: 'Rain in Bern',
    })
    expect(await call(fromAiSdk(tools), 'slow', {})).toMatchObject({ code: 'input_invalid' })
  })

  it('need an execute function and a schema that can be read', () => {
    expect(() => fromAiSdk({ ask: tool({ inputSchema: z.object({}) }) })).toThrow('has no execute function')
    expect(() => fromAiSdk({ ask: { inputSchema: 'none', execute: () => '' } })).toThrow(INVALID)
  })
})

describe('tools of LangChain', () => {
  const schema = z.object({ city: z.string() })

  it('run as calls, with their artifact as structured content', async () => {
    const forecast = langChainTool(({ city }) => [`Rain in ${city}`, { rain: 0.8 }], {
      name: 'forecast',
      description: 'The weather.',
      schema,
      responseFormat: 'content_and_artifact',
    })
    expect(await call([fromLangChain(forecast)], 'forecast', { city: 'Bern' })).toEqual({
      ok: true,
      value: 'Rain in Bern',
      structured: { rain: 0.8 },
    })
  })

  it('fail where they throw', async () => {
    const broken = langChainTool(
      (): string => {
        throw new Error('no network')
      },
      { name: 'broken', description: '', schema },
    )
    expect(await call([fromLangChain(broken)], 'broken', { city: 'Bern' })).toMatchObject({
      ok: false,
      code: 'execution_failed',
      error: 'no network',
    })
  })

  it('are recognised by what they can do', () => {
    expect(() => fromLangChain({ name: 'x' } as never)).toThrow(INVALID)
  })
})
