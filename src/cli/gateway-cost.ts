import { ToolcribError, type ToolDefinition } from 'toolcrib'
import type { OpenedRegistry } from 'toolcrib/mcp'
import type { TokenCounts } from './token-counts.ts'

/** What the gateway lists for a client, and what that costs with every request. */
export interface GatewayCost {
  readonly tools: number
  readonly tokens: number
}

/**
 * Asks a gateway of these servers for its tools, like a client, and counts tokens. Throws `source-unavailable` if it
 * does not list them.
 */
export async function gatewayCost(
  { registry, servers }: Pick<OpenedRegistry, 'registry' | 'servers'>,
  counts: TokenCounts,
): Promise<GatewayCost> {
  const { createGateway } = await import('toolcrib/gateway')
  // The command has already waited for the servers.
  const gateway = createGateway({ registry, servers, limits: { listWaitMs: 1 } })
  try {
    const response = await gateway.fetch(new Request('http://localhost/mcp', LIST_TOOLS))
    const { result, error }: ListAnswer = JSON.parse(await response.text())
    if (!result) {
      const reason = error?.message ?? `HTTP ${response.status}`
      throw new ToolcribError(
        'source-unavailable',
        `the gateway cannot list its tools: ${reason}; check the servers with "toolcrib doctor"`,
      )
    }
    const tools = result.tools.map(({ name, description, inputSchema: parameters }) => ({
      name,
      description,
      parameters,
    }))
    return { tools: tools.length, tokens: await counts.sum(tools) }
  } finally {
    await gateway.close()
  }
}

interface ListAnswer {
  readonly result?: {
    readonly tools: readonly (Pick<ToolDefinition, 'name' | 'description'> & {
      readonly inputSchema: ToolDefinition['parameters']
    })[]
  }
  readonly error?: { readonly message: string }
}

const VERSION = '2026-07-28'

const LIST_TOOLS = {
  method: 'POST',
  headers: {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': VERSION,
    'mcp-method': 'tools/list',
  },
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/list',
    params: {
      _meta: {
        'io.modelcontextprotocol/protocolVersion': VERSION,
        'io.modelcontextprotocol/clientInfo': { name: 'toolcrib', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  }),
}
