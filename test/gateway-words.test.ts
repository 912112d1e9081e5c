import { describe, expect, it } from 'vitest'
import { connectClient, openGateway, URL_OF_GATEWAY } from './gateway.fixture.ts'
import { MODERN_SERVER, referenceServer, script } from './mcp/reference-servers.fixture.ts'

const MODERN = script(MODERN_SERVER)
const EVERYTHING = script(referenceServer('everything'))

describe('what a model reads', () => {
  it('names tools as the client sees them, where they are and how they are called', async () => {
    const profiles = { one: { deny: ['mcp__third__*'] } }
    const { gateway, registry } = await openGateway(
      { modern: MODERN, second: MODERN, third: MODERN, fourth: MODERN },
      { mode: 'lazy', profiles },
    )
    registry.quarantine('mcp__fourth__add', 'it changed')
    const client = await connectClient(gateway, { era: 'legacy', url: `${URL_OF_GATEWAY}/one` })
    const [search] = (await client.listTools()).tools
    expect(search?.description).toContain(
      'call it with call_tool { name, arguments }, or with the tool that its "call_with" names',
    )
    const call = async (name: string, args: Record<string, unknown>) =>
      client.callTool({ name, arguments: args })

    // Of tools that are alike a search shows one, and names the others that this client may call.
    const { structuredContent } = await call('tool_search', { query: 'add two numbers' })
    const { matches } = structuredContent as { matches: { name: string; also_on_other_servers?: string[] }[] }
    const [first] = matches
    const found = [first?.name, ...(first?.also_on_other_servers ?? [])].sort()
    expect(found).toEqual(['modern__add', 'second__add'])
    expect((await call('tool_search', { name: 'second__add' })).structuredContent).toMatchObject({
      name: 'second__add',
      also_on_other_servers: ['modern__add'],
    })

    const invalid = { name: 'second__add', arguments: { a: 'x' } }
    const refusals = [
      await call('call_tool', invalid),
      await call('call_tool', { name: 'second__add', a: 1, b: 2 }),
      await call('second__add', { a: 'x' }),
    ]
    for (const refusal of refusals) {
      expect(JSON.stringify(refusal)).toContain('second__add')
      expect(JSON.stringify(refusal)).not.toContain('mcp__')
    }
    await expect(call('add', {})).rejects.toThrow(/^(?!.*mcp__).*(?:modern__add|second__add)/)
  })

  it('says once what several servers say about themselves', async () => {
    const { gateway } = await openGateway({ b: EVERYTHING, a: EVERYTHING }, { mode: 'lazy' })
    const told = (await connectClient(gateway)).getInstructions() ?? ''
    expect(told).toContain('Servers "a", "b" say about themselves (not verified): ')
    expect(told.match(/not verified/g)).toHaveLength(1)
  })
})
