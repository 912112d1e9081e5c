import { join } from 'node:path'
import type { RegistryOptions, ToolRegistry } from '@toolcrib/core'
import { exactTokenCounter } from '@toolcrib/embedder/tokens'
import type { AllowedTools } from '@toolcrib/gateway'
import { type ConnectedServers, openFromConfig } from '@toolcrib/mcp'
import { builtinTools } from '@toolcrib/mcp/builtin-tools'
import { fsReachBackend, networkBackend, processBackend, storageBackend } from '@toolcrib/mcp/capabilities'
import { ConfiguredTools } from '../config/allowed-tools.ts'
import { openScripts } from '../config/open-scripts.ts'
import { findWithFlags, noteApis, noteSkills, noteWarnings } from '../servers/with-registry.ts'
import type { RegistryFlags, ServerFlags } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'

export interface ToolSources extends RegistryFlags, Pick<ServerFlags, 'config' | 'lockfile'> {
  readonly builtin?: boolean
  /** Commands that `exec` may start. */
  readonly commands?: readonly string[]
}

export interface ChatTools {
  readonly registry: ToolRegistry
  readonly servers: ConnectedServers
  readonly serverCount: number
  /** Where what the user always allows is kept. */
  readonly alwaysAllowed: AllowedTools | undefined
  /** Stops every server and releases files. */
  close(): Promise<void>
}

/** Opens the registry of a chat: MCP servers from the config, and the built-in tools if asked for. */
export async function openChatTools(
  terminal: Terminal,
  { builtin = false, commands = [], ...flags }: ToolSources,
): Promise<ChatTools> {
  const found = await findWithFlags(terminal, flags, { optional: true })
  noteWarnings(terminal, found)
  const { GATEWAY_CAPABILITIES } = await import('@toolcrib/gateway')
  const { registry, servers, apis, skippedSkills, close } = await openFromConfig({
    found,
    env: terminal.env,
    memory: true,
    // Catalogues are cached for every command, so each of them asks servers for the same tools.
    connect: { client: { capabilities: GATEWAY_CAPABILITIES } },
    registry: {
      countTokens: await exactTokenCounter(),
      ...(await openScripts(found.config, terminal.env)),
      ...(builtin || commands.length > 0 ? { capabilities: capabilities(terminal.cwd, commands) } : {}),
    },
  })
  noteApis(terminal, await apis())
  noteSkills(terminal, await skippedSkills())
  if (builtin) registry.registerAll(builtinTools().filter(({ name }) => name !== 'exec'))
  if (commands.length > 0) registry.registerAll(builtinTools({ only: ['exec'] }))
  const serverCount = Object.keys(found.config.servers).length
  // Without servers, the model needs no tool that waits for them.
  if (serverCount === 0) await servers.close()
  const alwaysAllowed = ConfiguredTools.of(() => found.config, terminal.env, flags.config)
  return { registry, servers, serverCount, alwaysAllowed, close }
}

function capabilities(
  cwd: string,
  commands: readonly string[],
): NonNullable<RegistryOptions['capabilities']> {
  return {
    fs_reach: fsReachBackend({ read: [cwd], write: [cwd] }),
    network: networkBackend({ hosts: ['*'] }),
    storage: storageBackend({ directory: join(cwd, '.toolcrib', 'storage') }),
    ...(commands.length > 0 ? { process: processBackend({ commands: [...commands] }) } : {}),
  }
}
