import { ToolcribError } from '@toolcrib/core'
import type { OpenedRegistry, Profile } from '@toolcrib/mcp'
import type { TokenCounts } from '../servers/token-counts.ts'

/** What the gateway lists for a client, and what that costs with every request. */
export interface GatewayCost {
  readonly tools: number
  readonly tokens: number
}

/**
 * Counts what a gateway of these servers shows a client, without a profile or with this one. Throws `source-unavailable` if it cannot list its tools.
 */
export async function gatewayCost(
  { registry, servers }: Pick<OpenedRegistry, 'registry' | 'servers'>,
  counts: TokenCounts,
  profile?: Profile,
): Promise<GatewayCost> {
  const { createGateway } = await import('@toolcrib/gateway')
  // The command has already waited for the servers.
  const limits = { listWaitMs: 1 }
  const profiles = profile === undefined ? {} : { [COUNTED]: profile }
  const gateway = createGateway({ registry, servers, limits, profiles })
  try {
    const shown = await gateway.toolsShown('cost', profile && COUNTED).catch((cause: Error) => {
      const step = 'check the servers with "toolcrib doctor"'
      const message = `the gateway cannot list its tools: ${cause.message}; ${step}`
      throw new ToolcribError('source-unavailable', message, { cause })
    })
    const tools = shown.map(({ name, description, inputSchema: parameters }) => ({
      name,
      description,
      parameters,
    }))
    return { tools: tools.length, tokens: await counts.sum(tools) }
  } finally {
    await gateway.close()
  }
}

/** Any name: nobody sees it. */
const COUNTED = 'counted'
