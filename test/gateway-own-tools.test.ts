import { ToolRegistry } from 'toolcrib'
import { createGateway } from 'toolcrib/gateway'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connectClient } from './gateway.fixture.ts'

describe('a gateway without servers', () => {
  const open = (mode: 'full' | 'lazy') => {
    const registry = new ToolRegistry({ defer: 'all' })
    registry.register({
      name: 'get_time',
      description: 'Says the time of a city.',
      inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      execute: (input) => `noon in ${(input as { city: string }).city}`,
    })
    const gateway = createGateway({ registry, mode })
    onTestFinished(() => gateway.close())
    return gateway
  }

  it.each(['modern', 'legacy'] as const)('serves the tools of its process to a %s client', async (era) => {
    const client = await connectClient(open('full'), { era })
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['get_time'])
    const { content } = await client.callTool({ name: 'get_time', arguments: { city: 'Bern' } })
    expect(content).toEqual([{ type: 'text', text: 'noon in Bern' }])
    expect(await client.callTool({ name: 'get_time', arguments: {} })).toMatchObject({ isError: true })
  })

  it('lets them be searched', async () => {
    const client = await connectClient(open('lazy'))
    const found = await client.callTool({ name: 'tool_search', arguments: { query: 'time of a city' } })
    expect(JSON.stringify(found.content)).toContain('get_time')
    const called = { name: 'get_time', arguments: { city: 'Bern' } }
    const { content } = await client.callTool({ name: 'call_tool', arguments: called })
    expect(content).toEqual([{ type: 'text', text: 'noon in Bern' }])
  })
})
