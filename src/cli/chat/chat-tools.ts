import { join } from 'node:path'
import { exactTokenCounter, hybrid, type RegistryOptions, ToolRegistry } from 'toolcrib'
import { builtinTools } from 'toolcrib/builtin-tools'
import { fsReachBackend, networkBackend, processBackend, storageBackend } from 'toolcrib/capabilities'
import { staticEmbedder } from 'toolcrib/embedders'
import {
  type ConnectedServers,
  connectServers,
  loadConfig,
  lockInForce,
  lockPlaces,
  readLocks,
} from 'toolcrib/mcp'
import { openCatalogueCache } from '../catalogue-cache.ts'
import type { ModeFlags } from '../flags.ts'
import { overridesOf, requireUnnamed } from '../open-registry.ts'
import type { Environment } from './choose-model.ts'

export interface ToolSources extends ModeFlags {
  readonly config?: string
  /** `toolcrib.lock` beside the config when absent. */
  readonly lockfile?: string
  readonly builtin?: boolean
  /** Commands that `exec` may start. */
  readonly commands?: readonly string[]
}

export interface ChatTools {
  readonly registry: ToolRegistry
  /** Absent when none is configured: the model need not hear of servers then. */
  readonly servers?: ConnectedServers
  readonly serverCount: number
}

/** The registry of a chat: MCP servers from the config, and the built-in tools if asked for. */
export async function openChatTools(
  { config: path, lockfile: lockPath, builtin, commands = [], ...flags }: ToolSources,
  { env, cwd }: { env: Environment; cwd: string },
): Promise<ChatTools> {
  const overrides = overridesOf(flags)
  const config = await loadConfig({
    cwd,
    env,
    overrides,
    // It is told as failed, beside those that work.
    onBadServer: ({ message }) => ({ problem: message }),
    ...(path === undefined ? {} : { path }),
  })
  const places = lockPlaces(config, { cwd, ...(lockPath === undefined ? {} : { path: lockPath }) })
  const lockfile = lockInForce(await readLocks(places))
  if (lockfile === undefined) requireUnnamed({ ...(lockPath === undefined ? {} : { lockfile: lockPath }) })
  const registry = new ToolRegistry({
    ...config.tools,
    countTokens: await exactTokenCounter(),
    searcher: hybrid({ embedder: staticEmbedder() }),
    ...(builtin || commands.length > 0 ? { capabilities: capabilities(cwd, commands) } : {}),
  })
  if (builtin) registry.registerAll(builtinTools().filter(({ name }) => name !== 'exec'))
  if (commands.length > 0) registry.registerAll(builtinTools({ only: ['exec'] }))
  const serverCount = Object.keys(config.servers).length
  if (serverCount === 0) return { registry, serverCount }
  const cache = await openCatalogueCache(env, { isRead: true, files: config.files, now: Date.now() })
  return {
    registry,
    serverCount,
    servers: connectServers(
      registry,
      { servers: config.servers },
      { env, lockfile, ...(cache ? { cache } : {}) },
    ),
  }
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
