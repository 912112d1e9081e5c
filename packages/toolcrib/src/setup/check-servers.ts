import type { ServerStatus } from '@toolcrib/core'
import type { ServerConfig } from '@toolcrib/mcp'
import { type GatewayCost, gatewayCost } from '../gateway/gateway-cost.ts'
import { mendServer, type ServerFault } from '../servers/mend-server.ts'
import { isMissing } from '../servers/missing-servers.ts'
import { TokenCounts } from '../servers/token-counts.ts'
import { findWithFlags, withRegistry } from '../servers/with-registry.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** How long servers may take to answer. */
const CHECK_MS = 10_000

/** What the servers of a config list, and what that costs with each request. */
export interface ServerCheck {
  readonly servers: number
  readonly ready: number
  readonly tools: number
  /** The tokens of the definitions of each server that has answered. */
  readonly tokens: ReadonlyMap<string, number>
  /** What the gateway lists instead, for all servers, and for each of the given sets by its key. */
  readonly gateway: GatewayCost
  readonly gatewayOf: ReadonlyMap<string, GatewayCost>
  readonly broken: readonly ({ readonly server: string } & ServerFault)[]
}

/**
 * Starts the servers of a config, waits ten seconds (and for those that are being downloaded), and counts what a program with all of them pays, and what
 * one with only some of them does.
 */
export async function checkServers(
  terminal: Terminal,
  config: string,
  sets: ReadonlyMap<string, readonly string[]>,
): Promise<ServerCheck> {
  const counts = new TokenCounts(terminal)
  const flags = { config }
  const found = await findWithFlags(terminal, flags)
  return withRegistry(terminal, flags, { found, remembered: true, waitMs: CHECK_MS }, async (ready) => {
    const { registry, statuses } = ready
    const broken = statuses.filter(isMissing)
    const gatewayOf = new Map<string, GatewayCost>()
    for (const [key, servers] of sets) gatewayOf.set(key, await gatewayCost(ready, counts, { servers }))
    return {
      servers: statuses.length,
      ready: statuses.length - broken.length,
      tools: registry.size,
      tokens: await counts.byServer(registry),
      gateway: await gatewayCost(ready, counts),
      gatewayOf,
      broken: broken.map((status) => describeBroken(status, found.config.servers[status.server])),
    }
  })
}

function describeBroken(
  status: ServerStatus,
  config: ServerConfig | undefined,
): ServerCheck['broken'][number] {
  const reason = status.state === 'failed' ? status.reason : `it did not connect within ${CHECK_MS} ms`
  return { server: status.server, ...mendServer(status.server, reason, config) }
}
