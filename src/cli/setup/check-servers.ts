import type { ServerStatus } from 'toolcrib'
import type { ServerConfig } from 'toolcrib/mcp'
import { type GatewayCost, gatewayCost } from '../gateway-cost.ts'
import { mendServer, type ServerFault } from '../mend-server.ts'
import type { Terminal } from '../terminal.ts'
import { TokenCounts } from '../token-counts.ts'
import { findWithFlags, withRegistry } from '../with-registry.ts'

/** How long servers may take to answer. */
const CHECK_MS = 10_000

/** What the servers of a config list, and what that costs on each turn. */
export interface ServerCheck {
  readonly servers: number
  readonly ready: number
  readonly tools: number
  /** The tokens of all definitions. */
  readonly fullTokens: number
  /** What a client is shown of the gateway instead. */
  readonly gateway: GatewayCost
  readonly broken: readonly ({ readonly server: string } & ServerFault)[]
}

/** Starts the servers of a config, waits at most ten seconds, and counts. */
export async function checkServers(terminal: Terminal, config: string): Promise<ServerCheck> {
  const counts = new TokenCounts(terminal)
  const flags = { config, timeout: CHECK_MS }
  const found = await findWithFlags(terminal, flags)
  return withRegistry(terminal, flags, { found, remembered: true }, async (ready) => {
    const { registry, statuses } = ready
    const broken = statuses.filter(isBroken)
    return {
      servers: statuses.length,
      ready: statuses.length - broken.length,
      tools: registry.size,
      fullTokens: await counts.sum(registry.toDefinitions()),
      gateway: await gatewayCost(ready, counts),
      broken: broken.map((status) => describeBroken(status, found.config.servers[status.server])),
    }
  })
}

function isBroken({ state }: ServerStatus): boolean {
  return state === 'failed' || state === 'connecting'
}

function describeBroken(
  status: ServerStatus,
  config: ServerConfig | undefined,
): ServerCheck['broken'][number] {
  const reason = status.state === 'failed' ? status.reason : `it did not connect within ${CHECK_MS} ms`
  return { server: status.server, ...mendServer(status.server, reason, config) }
}
