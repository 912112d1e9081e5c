import { checkOptions } from '@toolcrib/core/internal'
import { CONNECT_RULES, type ConnectOptions, type ServersRegistry } from './connect-options.ts'
import type { ConnectedServers, ServersConfig } from './connected-servers.ts'
import { ServerHub, serversIn } from './server/server-hub.ts'

/**
 * Connects a registry to MCP servers in parallel. Returns before they are connected: `ready()` waits for them, and
 * searches wait for a limited time. A server that fails does not delay the others and is retried; a server with an
 * invalid config gets the state `failed` and the reason. Throws `config-invalid` for an unknown option, and when
 * `config` does not contain servers by name.
 */
export function connectServers(
  registry: ServersRegistry,
  config: ServersConfig,
  options: ConnectOptions = {},
): ConnectedServers {
  checkOptions('connectServers()', options, CONNECT_RULES)
  // Read the config before attaching anything to the registry: after a throw, the caller has no handle to close.
  const wanted = serversIn(config, options.env ?? process.env)
  const servers = new ServerHub(registry, options, [...wanted.keys()])
  servers.replace(wanted)
  return servers
}
