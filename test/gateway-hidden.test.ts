import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { connectClient, openGateway, rawRequest, serveTools } from './gateway.fixture.ts'

/** `text` with a zero-width space, a change of direction and a tag character in it. */
const hiding = (text: string) => `${text}\u200b\u202e\u{e0041}`
const HIDDEN = /[\u200b\u202e]|\u{e0041}/u
const content = [{ type: 'text' as const, text: 'done' }]

describe('characters that people do not see', () => {
  it('are in no list of tools, prompts or resources', async () => {
    const { url } = await serveTools((server) => {
      server.registerTool(
        'read',
        {
          title: hiding('Read'),
          description: hiding('Reads.'),
          annotations: { title: hiding('Reader'), readOnlyHint: true },
          inputSchema: z.object({ path: z.string().describe(hiding('Where.')) }),
          outputSchema: z.object({ text: z.string().describe(hiding('What.')) }),
          _meta: { 'example.com/kept': hiding('for programs') },
        },
        async () => ({ content, structuredContent: { text: 'done' } }),
      )
      server.registerPrompt('ask', { title: hiding('Ask'), description: hiding('Asks.') }, async () => ({
        messages: [],
      }))
      server.registerPrompt(hiding('trap'), {}, async () => ({ messages: [] }))
      server.registerResource('page', 'test://page', { description: hiding('A page.') }, async () => ({
        contents: [],
      }))
    })
    const { gateway } = await openGateway({ one: { url } }, { mode: 'full' })
    const client = await connectClient(gateway)
    const [tool] = (await client.listTools()).tools
    const { _meta, ...shown } = tool ?? {}
    expect(shown).toMatchObject({
      title: 'Read',
      annotations: { title: 'Reader' },
      outputSchema: { properties: { text: { description: 'What.' } } },
    })
    expect(JSON.stringify(shown)).not.toMatch(HIDDEN)
    expect(_meta).toEqual({ 'example.com/kept': hiding('for programs') })
    const { prompts } = await client.listPrompts()
    expect(prompts).toMatchObject([{ name: 'one__ask', title: 'Ask', description: 'Asks.' }])
    const { resources } = await client.listResources()
    expect(resources).toMatchObject([{ uri: 'test://page', description: 'A page.' }])
    expect(JSON.stringify([prompts, resources])).not.toMatch(HIDDEN)
  })

  it('in the names and values of an output schema take it off the list', async () => {
    const { url } = await serveTools((server) => {
      const outputSchema = { kind: z.enum(['plain', hiding('odd')]) }
      server.registerTool('one', { inputSchema: z.object({}), outputSchema: z.object(outputSchema) }, () => ({
        content,
        structuredContent: { kind: 'plain' },
      }))
      const named = z.object({ [hiding('key')]: z.string().optional() })
      server.registerTool('two', { inputSchema: z.object({}), outputSchema: named }, () => ({
        content,
        structuredContent: {},
      }))
    })
    const { gateway } = await openGateway({ one: { url } }, { mode: 'full' })
    const { answer } = await rawRequest(gateway, 'tools/list')
    const { tools } = answer.result as { tools: Record<string, unknown>[] }
    expect(tools.map(({ name, outputSchema }) => [name, outputSchema])).toEqual([
      ['one__one', undefined],
      ['one__two', undefined],
    ])
    const call = await rawRequest(gateway, 'tools/call', { name: 'one__one', arguments: {} })
    expect(call.answer.result).toMatchObject({ structuredContent: { kind: 'plain' } })
  })
})
