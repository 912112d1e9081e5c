import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { exactTokenCounter, type Tool, ToolRegistry } from 'toolcrib'
import { createGateway } from 'toolcrib/gateway'
import { connectServers } from 'toolcrib/mcp'

/** What a client is shown of a catalogue: every definition, or the gateway's. */
export interface GatewayCost {
  readonly servers: number
  readonly tools: number
  /** The tokens of all definitions, as a client without a gateway sends them with every request. */
  readonly directTokens: number
  /** What the gateway lists instead. */
  readonly shown: readonly { readonly name: string; readonly tokens: number }[]
}

/** Lists a catalogue through a gateway, as a client does. */
export async function measureGateway(
  catalogue: ReadonlyMap<string, readonly Pick<Tool, 'name' | 'description' | 'inputSchema'>[]>,
): Promise<GatewayCost> {
  const countTokens = await exactTokenCounter()
  const registry = new ToolRegistry({ mode: 'lazy', countTokens })
  for (const [server, tools] of catalogue)
    registry.syncMcp(
      server,
      tools.map((tool) => ({ ...tool, execute: async () => ({ ok: true, value: '' }) })),
    )
  const servers = connectServers(registry, { mcpServers: {} })
  const gateway = createGateway({ registry, servers })
  const client = new Client({ name: 'picture', version: '1' }, { versionNegotiation: { mode: 'legacy' } })
  await client.connect(
    new StreamableHTTPClientTransport(new URL('http://localhost/mcp'), {
      fetch: (input, init) => gateway.fetch(new Request(input, init)),
    }),
  )
  const { tools } = await client.listTools()
  await client.close()
  await gateway.close()
  await servers.close()
  return {
    servers: catalogue.size,
    tools: registry.size,
    directTokens: registry
      .toDefinitions()
      .reduce((sum, definition) => sum + countTokens(JSON.stringify(definition)), 0),
    shown: tools.map(({ name, description, inputSchema }) => ({
      name,
      tokens: countTokens(JSON.stringify({ name, description, parameters: inputSchema })),
    })),
  }
}
