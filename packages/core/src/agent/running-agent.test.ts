import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { defineTool } from '../authoring/define-tool.ts'
import { ToolRegistry } from '../tool-registry.ts'
import { anthropicModel, geminiModel, openaiChatModel } from './index.ts'
import type { Model } from './model.ts'
import { runAgent } from './run-agent.ts'
import { type ScriptedTurn, scriptedModel } from './scripted-model.ts'

const ASKS = { calls: [{ name: 'rain', args: {} }] } satisfies ScriptedTurn

async function open(...script: ScriptedTurn[]) {
  const registry = new ToolRegistry()
  const rain = { name: 'rain', description: 'Tells whether it rains.', inputSchema: {}, execute: () => 'no' }
  registry.register(defineTool(rain))
  const model = scriptedModel(script)
  return { registry, model, session: await registry.openSession({ dialect: model.dialect }) }
}

describe('a run', () => {
  it('is iterated over, step by step, and awaited', async () => {
    const { model, session } = await open(ASKS, { text: 'It is dry.' })
    const run = runAgent({ model, session, messages: 'Does it rain?' })
    const steps: string[] = []
    for await (const step of run) steps.push(step.type)
    expect(steps.filter((type) => type !== 'text')).toEqual([
      'asking',
      'replied',
      'calling',
      'called',
      'asking',
      'replied',
      'stopped',
    ])
    expect(steps).toContain('text')
    expect(await run).toMatchObject({ text: 'It is dry.', stop: 'done' })
  })

  it('goes on when a loop over its steps ends early', async () => {
    const { model, session } = await open(ASKS, { text: 'It is dry.' })
    const run = runAgent({ model, session, messages: 'Does it rain?' })
    for await (const step of run) if (step.type === 'calling') break
    expect(await run).toMatchObject({ stop: 'done' })
  })

  it('throws what the promise rejects with', async () => {
    const { model, session } = await open()
    const iterate = async (options: object) => {
      for await (const _ of runAgent({ model, session, messages: 'Hi.', ...options }));
    }
    await expect(iterate({ maxIteration: 3 })).rejects.toMatchObject({ code: 'config-invalid' })
    await expect(iterate({ session: undefined })).rejects.toMatchObject({ code: 'config-invalid' })
  })

  it('takes a model that is chosen at run time', async () => {
    const provider: string = 'none'
    const chosen =
      provider === 'anthropic'
        ? anthropicModel({ model: 'claude-sonnet-4-6' })
        : provider === 'gemini'
          ? geminiModel({ model: 'gemini-3-pro' })
          : openaiChatModel({ model: 'gpt-5', client: {} as never })
    const { registry } = await open()
    const session = await registry.openSession({ dialect: chosen.dialect })
    expect(await runAgent({ model: chosen, session, messages: 'Hi.' })).toMatchObject({ stop: 'failed' })
    const models: Record<string, () => Model> = {
      gemini: () => geminiModel({ model: 'gemini-3-pro' }),
      scripted: () => scriptedModel([{ text: 'Hello.' }]),
    }
    const model = models.scripted?.() as Model
    const { messages } = await runAgent({ model, session, messages: 'Hi.' })
    const more = [...messages, model.dialect.userMessage('And?')]
    expect(await runAgent({ model, session, messages: more })).toMatchObject({ text: 'done' })
  })
})

describe('a checkpoint', () => {
  it('gets a history to go on from, after each answer', async () => {
    const { model, session } = await open(ASKS, { text: 'It is dry.' })
    const saved: (readonly unknown[])[] = []
    const hooks = {
      checkpoint: ({ messages }: { readonly messages: readonly unknown[] }) => {
        saved.push(messages)
      },
    }
    const { messages } = await runAgent({ model, session, messages: 'Does it rain?', hooks })
    expect(saved.map(({ length }) => length)).toEqual([3, 4])
    expect(saved.at(-1)).toEqual(messages)
    const again = scriptedModel([{ text: 'It is dry.' }])
    const resumed = await runAgent({ model: again, session, messages: saved[0] as typeof messages })
    expect(resumed.messages).toEqual(messages)
  })

  it('that fails ends the run, which keeps its history', async () => {
    const { model, session } = await open(ASKS)
    const hooks = { checkpoint: () => Promise.reject(new Error('the disk is full')) }
    const result = await runAgent({ model, session, messages: 'Does it rain?', hooks })
    expect(result).toMatchObject({ stop: 'failed', error: { message: 'the disk is full' } })
    expect(result.messages).toHaveLength(3)
  })
})

describe('answerSchema', () => {
  const schema = {
    type: 'object',
    properties: { rain: { type: 'boolean' }, days: { type: 'integer' } },
    required: ['rain'],
  } as const

  it('asks for JSON, and returns the last answer as a typed value', async () => {
    const { model, session } = await open(ASKS, { text: '```json\n{ "rain": false }\n```' })
    const system = 'Be brief.'
    const { answer, stop } = await runAgent({
      ...{ model, session, messages: 'Does it rain?', system },
      answerSchema: schema,
    })
    const rains: boolean | undefined = answer?.rain
    expect([rains, stop]).toEqual([false, 'done'])
    for (const request of model.requests)
      expect(JSON.stringify(request.messages[0])).toMatch(/Be brief\..*answer with JSON.*days/)
  })

  it('takes a schema of a library, and applies its transforms', async () => {
    const { model, session } = await open({ text: '{"when":"2026-11-19"}' })
    const answerSchema = z.object({ when: z.string().transform((text) => new Date(text).getFullYear()) })
    const { answer } = await runAgent({ model, session, messages: 'When?', answerSchema })
    const year: number | undefined = answer?.when
    expect(year).toBe(2026)
  })

  it('asks again for an answer that does not match, twice', async () => {
    const { model, session } = await open(
      { text: 'No.' },
      { text: '{"rain":"no"}' },
      { text: '{"rain":false}' },
    )
    const { answer, messages } = await runAgent({
      ...{ model, session, messages: 'Does it rain?' },
      answerSchema: schema,
    })
    expect(answer).toEqual({ rain: false })
    expect(JSON.stringify(messages)).toMatch(/it is not JSON.*rain: expected boolean/)
    const stubborn = scriptedModel(() => ({ text: 'No.' }))
    const failed = await runAgent({
      ...{ model: stubborn, session, messages: 'Does it rain?' },
      answerSchema: schema,
    })
    expect(failed).toMatchObject({ stop: 'failed', text: 'No.', iterations: 3 })
    expect(failed.answer).toBeUndefined()
  })
})
