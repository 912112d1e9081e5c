import type { Client } from '@modelcontextprotocol/client'
import type { Finding } from '../finding.ts'
import type { ServerStatus } from '../registry/server-directory.ts'
import { type Environment, readConfig } from './config/load-config.ts'
import type { ServerConfig } from './config/server-config.ts'
import type { ConnectOptions, ServersRegistry } from './connect-options.ts'
import type { Lockfile } from './lock/lockfile.ts'
import { ServerHub } from './server/server-hub.ts'
import type { ServerTool } from './server/server-tool.ts'

/** Servers by name, as `loadConfig()` gives them or as clients and editors write them. */
export interface ServersConfig {
  /** As `loadConfig()` and `readConfig()` give them. */
  readonly servers?: Readonly<Record<string, ServerConfig>>
  /** As clients and editors write them in their JSON. */
  readonly mcpServers?: Readonly<Record<string, unknown>>
  /** As in a `toolcrib.toml` that has been parsed. */
  readonly server?: Readonly<Record<string, unknown>>
}

/** The servers of a registry. */
export interface ConnectedServers {
  /** Resolves once no server is connecting, or the time (30,000) is up, with how each is doing. Never rejects. */
  ready(options?: { readonly timeoutMs?: number }): Promise<readonly ServerStatus[]>
  /** How each server is doing, by name. */
  status(): readonly ServerStatus[]
  /** What a server lists, before anything is left out; undefined until that is known. */
  tools(server: string): readonly ServerTool[] | undefined
  /** What looks suspicious in the tools that servers list. */
  findings(): readonly Finding[]
  /** Puts another lockfile in force, or none: what it approves comes out of quarantine, the rest goes in. */
  relock(lockfile: Lockfile | undefined): Promise<void>
  /** Takes another config: what changed is restarted, the rest goes on. */
  reload(config: ServersConfig): Promise<void>
  /**
   * The SDK's client of one server, for what goes beyond tools; starts the server if need be, and its use keeps the
   * server from being stopped as idle. Ask again rather than keep it: a server that was away has another client.
   * Rejects with `source-unavailable` when there is no such server, or it cannot be started.
   */
  client(server: string): Promise<Client>
  /** Ends every server and takes their tools out of the registry. Nothing is left running. */
  close(): Promise<void>
}

/**
 * Connects a registry to MCP servers, all at once. It answers before they are connected: `ready()` waits, and so do
 * searches, for a while. A server that fails keeps nobody else waiting, and is tried again; one whose config makes no
 * sense is failed, with the reason. Throws `config-invalid` when there are no servers by name where they should be.
 */
export function connectServers(
  registry: ServersRegistry,
  config: ServersConfig,
  options: ConnectOptions = {},
): ConnectedServers {
  const env = options.env ?? process.env
  // Before anything is attached to the registry: nobody could close what a throw leaves behind.
  const wanted = readServers(config, env)
  const hub = new ServerHub(registry, options)
  hub.replace(wanted)
  return {
    ready: ({ timeoutMs = 30_000 } = {}) => hub.settled({ timeoutMs }).then(() => hub.statuses()),
    status: () => hub.statuses(),
    tools: (server) => hub.tools(server),
    findings: () => hub.findings(),
    relock: (lockfile) => hub.relock(lockfile),
    reload: (next) => hub.reload(() => readServers(next, env)),
    client: (server) => hub.client(server),
    close: () => hub.close(),
  }
}

function readServers({ servers, mcpServers, server }: ServersConfig, env: Environment) {
  // Only the servers: what else a loaded config holds is the registry's, and has been read.
  const given = { servers, mcpServers, server }
  const config = readConfig(given, { env, onBadServer: ({ message }) => ({ problem: message }) })
  return new Map(Object.entries(config.servers))
}
