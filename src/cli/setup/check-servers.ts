import { exactTokenCounter, type ServerStatus } from 'toolcrib'
import type { ServerConfig } from 'toolcrib/mcp'
import { definitionTokens } from '../definition-tokens.ts'
import { mendServer, type ServerFault } from '../mend-server.ts'
import type { Terminal } from '../terminal.ts'
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
  /** The tokens of what a turn shows through the gateway. */
  readonly lazyTokens: number
  readonly broken: readonly ({ readonly server: string } & ServerFault)[]
}

/** Starts the servers of a config, waits at most ten seconds, and counts. */
export async function checkServers(terminal: Terminal, config: string): Promise<ServerCheck> {
  const countTokens = await exactTokenCounter()
  const flags = { config, timeout: CHECK_MS, mode: 'lazy' } as const
  const found = await findWithFlags(terminal, flags)
  return withRegistry(terminal, flags, { found, remembered: true }, async ({ registry, statuses }) => {
    const shown = (await registry.openSession()).surface().tools
    const broken = statuses.filter(isBroken)
    return {
      servers: statuses.length,
      ready: statuses.length - broken.length,
      tools: registry.size,
      fullTokens: definitionTokens(registry.toDefinitions(), countTokens),
      lazyTokens: definitionTokens(shown, countTokens),
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
