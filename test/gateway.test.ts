import { describe, expect, it } from 'vitest'
import { connectClient, openGateway } from './gateway.fixture.ts'
import { HOSTILE_SERVER, MODERN_SERVER, referenceServer, script } from './mcp/reference-servers.fixture.ts'

const PLAIN = script(HOSTILE_SERVER)
const MODERN = script(MODERN_SERVER)
const EVERYTHING = script(referenceServer('everything'))

describe.each(['modern', 'legacy'] as const)('a %s client of the gateway', (era) => {
  it('lists the tools of every server under prefixed names, and calls them', async () => {
    const { gateway } = await openGateway({ modern: MODERN, everything: EVERYTHING }, { mode: 'full' })
    const client = await connectClient(gateway, { era })
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['modern__add', 'modern__ask', 'everything__echo']),
    )
    const sum = await client.callTool({ name: 'modern__add', arguments: { a: 1, b: 2 } })
    expect(sum).toMatchObject({ content: [{ type: 'text', text: '3' }], structuredContent: { sum: 3 } })
    const echo = await client.callTool({ name: 'everything__echo', arguments: { message: 'hi' } })
    expect(echo).toMatchObject({ content: [{ type: 'text', text: 'Echo: hi' }] })
  })

  it('is shown a search and two doors, and calls what it finds', async () => {
    const { gateway } = await openGateway({ modern: MODERN, plain: PLAIN }, { mode: 'lazy' })
    const client = await connectClient(gateway, { era })
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['tool_search', 'call_tool', 'call_read_tool'])
    const found = await client.callTool({ name: 'tool_search', arguments: { query: 'add two numbers' } })
    const { matches } = found.structuredContent as { matches: object[] }
    expect(matches[0]).toMatchObject({ name: 'modern__add', call_with: 'call_tool' })
    const args = { name: 'modern__add', arguments: { a: 1, b: 2 } }
    expect(await client.callTool({ name: 'call_tool', arguments: args })).toMatchObject({
      structuredContent: { sum: 3 },
    })
    expect(await client.callTool({ name: 'call_read_tool', arguments: args })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('does not say that it only reads; call it with call_tool') }],
    })
  })
})
