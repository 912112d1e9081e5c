import { expect, it } from 'vitest'
import { z } from 'zod'
import {
  hybrid,
  memoryStore,
  type RegistryOptions,
  ToolRegistry,
  usageMemory,
} from '../packages/core/src/index.ts'
import { staticEmbedder } from '../packages/embedder/src/static-embedder.ts'
import { connectClient, openGateway, serveTools } from './gateway.fixture.ts'

const TOKENS = [{ token: 'a'.repeat(20) }, { token: 'b'.repeat(20) }]
const QUERY = 'resize an image to a smaller width'

async function open(tokens: typeof TOKENS, options: RegistryOptions = {}) {
  const memory = usageMemory({ store: memoryStore() })
  const searcher = hybrid({ embedder: staticEmbedder() })
  const registry = new ToolRegistry({ searcher, memory, ...options })
  const { url } = await serveTools((server) => {
    for (const [name, description] of [
      ['resize_image', 'Resizes an image to a width'],
      ['send_mail', 'Sends an email message to a person'],
    ] as const)
      server.registerTool(name, { description, inputSchema: z.object({}) }, () => ({
        content: [{ type: 'text', text: 'done' }],
      }))
  })
  const { gateway } = await openGateway({ tools: { url } }, { registry, tokens, mode: 'lazy' })
  const searchAs = async (token: string | undefined) => {
    const client = await connectClient(gateway, token === undefined ? {} : { token })
    const found = await client.callTool({ name: 'tool_search', arguments: { query: QUERY } })
    return { client, answer: found.structuredContent as Record<string, unknown> }
  }
  return { memory, searchAs, gateway }
}

it('remembers what served a client, for each token on its own, and says nothing twice', async () => {
  const { memory, searchAs, gateway } = await open(TOKENS)
  const { client, answer } = await searchAs(TOKENS[0]?.token)
  expect(answer.matches).toMatchObject([{ name: 'tools__resize_image' }])
  expect(JSON.stringify(answer).split('tools__resize_image')).toHaveLength(3) // the match, and that it is active
  await client.callTool({ name: 'call_tool', arguments: { name: 'tools__resize_image', arguments: {} } })
  for (const query of [
    'select:resize_image',
    'server:tools',
    '+image',
    '+image +width',
    'server:tools +"an image"',
    '/image/',
  ]) {
    const named = await client.callTool({ name: 'tool_search', arguments: { query } })
    expect(named.structuredContent).not.toHaveProperty('note')
  }
  await client.close()
  await gateway.close()
  expect(await memory.episodes()).toEqual([])
  const owned = await Promise.all(
    TOKENS.map(async ({ token }) => {
      const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(token))
      const id = Buffer.from(digest).toString('hex').slice(0, 32)
      return (await memory.of(`user/${id}`).episodes()).map(({ tool }) => tool)
    }),
  )
  expect(owned).toEqual([['mcp__tools__resize_image'], []])
})

it('gives the memory of the registry to the only user, and every conversation of a client whatever fits', async () => {
  const { memory, searchAs, gateway } = await open([])
  const { client } = await searchAs(undefined)
  await client.callTool({ name: 'call_tool', arguments: { name: 'tools__resize_image', arguments: {} } })
  const again = await client.callTool({
    name: 'tool_search',
    arguments: { query: 'make an image smaller, resize its width' },
  })
  const { matches } = again.structuredContent as { matches: { name: string }[] }
  expect(matches[0]?.name).toBe('tools__resize_image')
  await gateway.close()
  expect(await memory.episodes()).toMatchObject([{ tool: 'mcp__tools__resize_image', source: 'mcp:tools' }])
})

it('names what did not fit as its clients see it', async () => {
  const { searchAs, gateway } = await open([], { maxActive: 1 })
  const { client } = await searchAs(undefined)
  const query = 'select:resize_image,send_mail'
  const { structuredContent } = await client.callTool({ name: 'tool_search', arguments: { query } })
  expect(structuredContent).toMatchObject({
    activated: ['tools__resize_image'],
    not_activated: ['tools__send_mail'],
    hint: expect.stringContaining('you can still call them'),
  })
  await gateway.close()
})
